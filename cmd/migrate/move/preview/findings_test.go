package preview

import (
	"fmt"
	"strings"
	"testing"

	"github.com/sliceshift/sliceshift/cmd/migrate/terminal"
	"github.com/sliceshift/sliceshift/migration/plan"
)

// TestFindingsAlike: of many findings with one reason, the first are shown in full, and the others are counted and
// named. Few findings, and findings with other reasons, are all shown.
func TestFindingsAlike(t *testing.T) {
	many := func(n int, reason string) (all []plan.Finding) {
		for i := range n {
			all = append(all, plan.Finding{Reason: reason, Object: fmt.Sprint("volume ", i), Message: fmt.Sprint("found ", i), Remedy: "do it"})
		}
		return all
	}
	text := FindingsText(append(many(100, "ForeignVolume"), many(3, "Other")...), terminal.Painter{})
	if n := strings.Count(text, "found"); n != 5 || strings.Count(text, "what to do") != 5 {
		t.Errorf("%d are shown:\n%s", n, text)
	}
	if want := "         98 more like it, of volume 2, volume 3, volume 4, volume 5, volume 6 and 93 more; -o json has each, with its commands\n"; !strings.Contains(text, want) {
		t.Errorf("it has no %q:\n%s", want, text)
	}
}
