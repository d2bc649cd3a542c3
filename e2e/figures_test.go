package e2e

import (
	"os"
	"testing"

	"github.com/sliceshift/sliceshift/internal/figures"
)

// figuresVariable is set by the make targets whose figures the documentation shows.
const figuresVariable = "SLICESHIFT_FIGURES"

// tellFigures puts what a long run has come to into docs/safety.md, when it was asked to
// and nothing has failed.
func tellFigures(t *testing.T, target, text string) {
	t.Helper()
	if os.Getenv(figuresVariable) == "" || t.Failed() {
		return
	}
	if err := figures.Write("../docs/safety.md", target, text); err != nil {
		t.Fatal(err)
	}
}
