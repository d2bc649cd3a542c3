package pages

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/sliceshift/sliceshift/internal/manual"
)

// TestCommandsElsewhereAreRun: each command that is not run here is run by another test. That test either reads
// the commands from the pages, or its source contains the words of the rule. Every rule has a command.
func TestCommandsElsewhereAreRun(t *testing.T) {
	for _, r := range manual.Rules {
		if _, err := manual.Of(root, r.By); err != nil {
			t.Error(err)
		}
		source := sourceOf(t, r)
		if r.Words == nil && !asks(r.By).Match(source) {
			t.Errorf("%s does not ask which commands of the pages it runs", r.By)
		}
		for _, word := range r.Words {
			if !word.Match(source) {
				t.Errorf("%s has nothing that matches %s", r.By, word)
			}
		}
	}
}

// asks returns an expression that matches how a test requests its commands, by the rules' name for the test.
func asks(by string) *regexp.Regexp {
	name := map[string]string{manual.Release: "Release", manual.Image: "Image", manual.Mover: "Mover"}[by]
	return regexp.MustCompile(`manual\.Of\([^\n]*, manual\.` + name + `\)`)
}

// sourceOf returns the source that runs the commands of a rule: the tests of a package or a Makefile target
// with its recipe. The package must contain the named test.
func sourceOf(t *testing.T, r manual.Rule) []byte {
	t.Helper()
	if target, is := strings.CutPrefix(r.By, "make "); is {
		makefile, err := os.ReadFile(filepath.Join(root, "Makefile"))
		if err != nil {
			t.Fatal(err)
		}
		return regexp.MustCompile(`(?m)^` + target + `:.*\n(\t.*\n)+`).Find(makefile)
	}
	folder, name, _ := strings.Cut(r.By, ".")
	files, err := filepath.Glob(filepath.Join(root, folder, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	var all []byte
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, text...)
	}
	if !bytes.Contains(all, []byte("func "+name+"(t *testing.T)")) {
		t.Errorf("there is no %s", r.By)
	}
	return all
}
