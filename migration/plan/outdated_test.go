package plan

import (
	"slices"
	"strings"
	"testing"

	"github.com/sliceshift/sliceshift/migration/internal/pdbtest"
)

// TestOneRollOutAfterTheOther: who is told to change the destination's template is told to
// wait for the source's roll-out first: two native ones at once would take two replicas down
// under a budget of one (G14).
func TestOneRollOutAfterTheOther(t *testing.T) {
	for name, tc := range map[string]struct {
		rolledOut bool
		want      []string
	}{
		"the source still rolls out": {false, []string{"wait", "cluster east", "kubectl rollout status -n shop sts/web", "cluster west", "kubectl edit sts -n shop web", "kubectl rollout status -n shop sts/web"}},
		"the source has rolled out":  {true, []string{"cluster west", "kubectl edit sts -n shop web", "kubectl rollout status -n shop sts/web"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := healthy(0, 3, pdbtest.MaxUnavailable(1))
			s.Template = TemplateChange{Fields: "spec.template.spec", Hash: "1"}
			s.Source.Set.RolledOut = tc.rolledOut
			hold := newPlanner(s).outdated()
			if hold == nil {
				t.Fatal("it is not held")
			}
			rest, found := hold.Remedy, false
			for _, part := range tc.want {
				if _, rest, found = strings.Cut(rest, part); !found {
					t.Fatalf("%q is not in its place in: %s", part, hold.Remedy)
				}
			}
			if tc.rolledOut && strings.Contains(hold.Remedy, "cluster east") {
				t.Errorf("it waits for what is done: %s", hold.Remedy)
			}
			if slices.Contains(strings.Fields(hold.Remedy), "scale") {
				t.Errorf("live replicas are scaled: %s", hold.Remedy)
			}
		})
	}
}
