package harness

import (
	"context"
	"errors"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/sliceshift/sliceshift/e2e/kind/cases"
)

// Start starts the clusters for the tests of a package and returns a function that stops them. That function
// keeps logs when a test has failed.
type Start func(context.Context) (end func(failed bool) error, err error)

// Main runs the tests of a package. It uses embedded clusters or, for the tests in onKind, kind clusters. It
// returns the exit code.
func Main(m *testing.M, onKind []string, embedded, kind Start) int {
	code, err := runTests(m, onKind, embedded, kind)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return code
}

func runTests(m *testing.M, onKind []string, embedded, kind Start) (code int, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), 15*time.Minute)
	defer cancel()
	onReal, err := cases.Chosen(onKind)
	if err != nil {
		return 0, err
	}
	start := embedded
	if onReal {
		start = kind
	}
	end, err := start(ctx)
	if err != nil {
		return 0, err
	}
	code = m.Run()
	return code, errors.Join(end(code != 0), removePrograms())
}

// CheckCases checks that each case either runs on kind or has a stated reason why it does not.
func CheckCases(t *testing.T, onKind []string, embeddedOnly map[string]string) {
	t.Helper()
	wrong, err := cases.Check(".", onKind, embeddedOnly)
	if err != nil {
		t.Fatal(err)
	}
	for _, each := range wrong {
		t.Error(each)
	}
}
