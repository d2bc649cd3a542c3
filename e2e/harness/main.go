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

// Start brings up what the tests of a package run on, and returns what ends it. What is of use
// is kept when a test has failed.
type Start func(context.Context) (end func(failed bool) error, err error)

// Main runs the tests of a package, on embedded clusters or, for those that run there, on kind's.
// It returns the code to exit with.
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

// CheckCases checks that whoever adds a case says whether it runs on kind, or why not.
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
