package pages

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestCommandsElsewhereAreRun: what is not run here has a test, or a target of the Makefile, that is there.
func TestCommandsElsewhereAreRun(t *testing.T) {
	makefile, err := os.ReadFile(filepath.Join(root, "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	all := append([]rule{{elsewhere: []string{byThemselves["tutorial.md"]}}}, rules...)
	for _, r := range all {
		for _, by := range r.elsewhere {
			if target, is := strings.CutPrefix(by, "make "); is {
				if !regexp.MustCompile(`(?m)^` + target + `:`).Match(makefile) {
					t.Errorf("%s: the Makefile has no such target", by)
				}
				continue
			}
			folder, name, _ := strings.Cut(by, ".")
			if !hasTest(t, folder, name) {
				t.Errorf("%s: there is no such test", by)
			}
		}
	}
}

func hasTest(t *testing.T, folder, name string) bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(root, folder, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(text), "func "+name+"(t *testing.T)") {
			return true
		}
	}
	return false
}
