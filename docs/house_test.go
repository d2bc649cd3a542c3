package docs

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"golang.org/x/tools/go/packages"
)

const module = "github.com/sliceshift/sliceshift/"

// TestHouse: every room of the house is in the list of CONTRIBUTING.md, and imports only rooms on lines below its own.
func TestHouse(t *testing.T) {
	text, err := os.ReadFile("../CONTRIBUTING.md")
	if err != nil {
		t.Fatal(err)
	}
	list := regexp.MustCompile("(?s)## The house\n.*?```\n(.*?)```").FindSubmatch(text)
	if list == nil {
		t.Fatal("CONTRIBUTING.md has no list of rooms")
	}
	line, missing := map[string]int{}, map[string]bool{}
	for i, row := range strings.Split(strings.TrimSpace(string(list[1])), "\n") {
		names, _, _ := strings.Cut(row, "  ")
		for name := range strings.FieldsSeq(names) {
			line[name], missing[name] = i+1, true
		}
	}
	found, err := packages.Load(&packages.Config{Mode: packages.NeedName | packages.NeedImports, Dir: ".."}, "./...")
	if err != nil {
		t.Fatal(err)
	}
	for _, pkg := range found {
		own := roomOf(pkg.PkgPath)
		delete(missing, own)
		if line[own] == 0 {
			t.Errorf("%s is a room that the list does not name", own)
		}
		for path := range pkg.Imports {
			if !strings.HasPrefix(path, module) {
				continue
			}
			if other := roomOf(path); other != own && line[other] <= line[own] {
				t.Errorf("%s imports %s, which is not below it", own, other)
			}
		}
	}
	for name := range missing {
		t.Errorf("there is no room %s", name)
	}
}

// roomOf returns the room of a package: its folder at the top level, or below migration.
func roomOf(path string) string {
	parts := strings.Split(strings.TrimPrefix(path, module), "/")
	if parts[0] == "migration" && len(parts) > 1 {
		return "migration/" + parts[1]
	}
	return parts[0]
}
