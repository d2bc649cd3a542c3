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

// TestCommandsElsewhereAreRun: what is not run here is run by a test that asks for the commands of the pages and runs them in
// their words, or whose sources have the words that its rule names; and every rule has a command.
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

// asks is how a test asks for its commands: by the name that the rules have for it.
func asks(by string) *regexp.Regexp {
	name := map[string]string{manual.Release: "Release", manual.Image: "Image", manual.Mover: "Mover"}[by]
	return regexp.MustCompile(`manual\.Of\([^\n]*, manual\.` + name + `\)`)
}

// sourceOf is what runs the commands of a rule: the tests of a package with that one among them, or a target with its recipe.
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
