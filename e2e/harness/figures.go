package harness

import (
	"os"
	"testing"

	"github.com/sliceshift/sliceshift/e2e/versions"
	"github.com/sliceshift/sliceshift/internal/figures"
)

// figuresVariable is set by the make targets whose figures the documentation shows.
const figuresVariable = "SLICESHIFT_FIGURES"

// WantsFigures reports whether a long run writes its figures into the documentation.
func WantsFigures() bool { return os.Getenv(figuresVariable) != "" }

// FiguresTarget returns the name of the figures of a make target on the selected version of Kubernetes.
func FiguresTarget(t *testing.T, target string) string {
	t.Helper()
	v, err := versions.Selected()
	if err != nil {
		t.Fatal(err)
	}
	return v.Target(target)
}

// WriteFigures writes the figures of a long run into the page of figures, when they are wanted and nothing has failed. If
// the page has no place for them, the error shows them.
func WriteFigures(t *testing.T, target, text string) {
	t.Helper()
	if !WantsFigures() || t.Failed() {
		return
	}
	if err := figures.Write(FiguresTarget(t, target), text); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
}
