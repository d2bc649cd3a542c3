package flags

import (
	"fmt"
	"os"
	"slices"

	"github.com/sliceshift/sliceshift/cmd/migrate/command"
)

// list describes a list of the API that is read from a file. It repeats the checks of the resource definition, because
// no API server validates the spec of a run.
type list[T any] struct {
	// flag names the flag of the file, field is the field in the file, and all and one are the plural and singular for
	// messages.
	flag, field, all, one string
	most                  int
	parse                 func(text []byte) ([]T, error)
	name                  func(T) string
	// wrong returns why the resource definition would reject an item, or an empty string.
	wrong func(T) string
}

// read reads the list from a file. An empty path yields an empty list.
func (l list[T]) read(path string) ([]T, error) {
	if path == "" {
		return nil, nil
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("--%s: %w", l.flag, err)
	}
	given, err := l.parse(text)
	if err != nil {
		return nil, command.Usagef("--%s: %s does not hold `%s:` with a list of %s: %v", l.flag, path, l.field, l.all, err)
	}
	return given, l.check(fmt.Sprintf("--%s: %s", l.flag, path), given)
}

// check rejects lists that the resource definition would reject. by names their source.
func (l list[T]) check(by string, given []T) error {
	if len(given) > l.most {
		return command.Usagef("%s: there are %d %s, and a migration may have %d", by, len(given), l.field, l.most)
	}
	for i, one := range given {
		why := l.wrong(one)
		if slices.ContainsFunc(given[:i], func(other T) bool { return l.name(other) == l.name(one) }) {
			why = "another one has its name"
		}
		if why != "" {
			return command.Usagef("%s: %s %d, %q: %s", by, l.one, i+1, l.name(one), why)
		}
	}
	return nil
}
