package versions

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sliceshift/sliceshift/e2e/built"
)

// TestY13Figures: figures of another version than the default never replace those of the default, and each version has its
// place for the comparison of the controllers.
func TestY13Figures(t *testing.T) {
	all, err := All()
	if err != nil {
		t.Fatal(err)
	}
	root, err := built.Module()
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(filepath.Join(root, "docs", "engineering", "figures.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range all {
		want := "duel KUBERNETES=" + v.Number
		if v.Default {
			want = "duel"
		}
		if got := v.Target("duel"); got != want {
			t.Errorf("the figures of %s are those of %q", v.Number, got)
		}
		for _, target := range []string{"duel", "soak"} {
			if !strings.Contains(string(page), "<!-- figures: written by make "+v.Target(target)+" -->\n") {
				t.Errorf("docs/engineering/figures.md has no place for %s", v.Target(target))
			}
		}
	}
	if !slices.ContainsFunc(all, func(v Version) bool { return v.Default }) {
		t.Error("there is no default")
	}
}
