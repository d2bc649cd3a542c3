package figures

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const page = `a
<!-- figures: written by make hostile -->
old

Measured at commit 1.
<!-- end of figures -->
b
<!-- figures: written by make chaos -->
kept

Measured at commit 2.
<!-- end of figures -->
<!-- figures: written by make chaos KUBERNETES=1.37 -->
old

Measured at commit 3.
<!-- end of figures -->
`

// inModule makes a folder with a page of figures the working directory of the test, or a folder below it.
func inModule(t *testing.T, text string) {
	t.Helper()
	root := t.TempDir()
	file, below := filepath.Join(root, filepath.FromSlash(Page)), filepath.Join(root, "e2e", "move")
	for _, dir := range []string{filepath.Dir(file), below} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Chdir(below)
}

func read(t *testing.T) string {
	t.Helper()
	text, err := Read()
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// TestWrite: figures replace those of the same target, with the commit and the machine, and the other ones stay.
func TestWrite(t *testing.T) {
	inModule(t, page)
	if err := Write("hostile", "new\n"); err != nil {
		t.Fatal(err)
	}
	if err := Write("chaos KUBERNETES=1.37", "newer"); err != nil {
		t.Fatal(err)
	}
	got := read(t)
	if !strings.Contains(got, "make hostile -->\nnew\n\nMeasured at commit unknown, on ") || !strings.Contains(got, " processors") ||
		!strings.Contains(got, "make chaos -->\nkept\n\nMeasured at commit 2.\n<!-- end of figures -->\n") || strings.Contains(got, "old") ||
		!strings.Contains(got, "make chaos KUBERNETES=1.37 -->\nnewer\n") {
		t.Errorf("got %s", got)
	}
	if err := Write("swing", "new"); err == nil {
		t.Error("a target without a place on the page was taken")
	}
}

// TestNoPage: outside of the module nothing is written.
func TestNoPage(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := Write("hostile", "new"); err == nil {
		t.Error("figures were written")
	}
}
