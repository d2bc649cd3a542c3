package e2e

import (
	"os"
	"strings"
	"testing"
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
	const path = "../docs/safety.md"
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	begin, end := "<!-- figures: written by make "+target+" -->\n", "<!-- end of figures -->\n"
	before, rest, found := strings.Cut(string(data), begin)
	_, after, closed := strings.Cut(rest, end)
	if !found || !closed {
		t.Fatalf("%s has no place for the figures of make %s", path, target)
	}
	if err := os.WriteFile(path, []byte(before+begin+text+"\n"+end+after), 0o600); err != nil {
		t.Fatal(err)
	}
}
