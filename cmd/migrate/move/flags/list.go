package flags

import (
	"fmt"
	"os"
	"slices"

	"github.com/sliceshift/sliceshift/cmd/migrate/command"
)

// list is a list of the API that a file gives, with what the resource definition would refuse of it: no API
// server sees a run's.
type list[T any] struct {
	// flag names the file, field is where it has them, all says what they are, and one what each of them is.
	flag, field, all, one string
	most                  int
	parse                 func(text []byte) ([]T, error)
	name                  func(T) string
	// wrong is what the resource definition would refuse of one; empty: nothing.
	wrong func(T) string
}

// read reads a file; of none there are none.
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

// check refuses what the resource definition would refuse of those that something gives.
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
