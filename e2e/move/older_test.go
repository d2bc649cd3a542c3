package move

import (
	"errors"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/sliceshift/sliceshift/e2e/cluster"
	"github.com/sliceshift/sliceshift/e2e/harness"
	"github.com/sliceshift/sliceshift/migration"
	"github.com/sliceshift/sliceshift/migration/plan"
	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
)

// TestOlderDestination moves to an API server that drops a field of the pod template, as one
// that is older would: it is refused before the move, or, where the namespace is made by the
// migration, held before the first stop (G8).
func TestOlderDestination(t *testing.T) {
	t.Parallel()
	older := startBare(t, "older", cluster.Options{Args: map[cluster.Role][]string{cluster.APIServer: {"--feature-gates=PodLevelResources=false,InPlacePodLevelResourcesVerticalScaling=false"}}})
	for name, exists := range map[string]bool{"its namespace exists": true, "its namespace is made": false} {
		t.Run(name, func(t *testing.T) {
			app := harness.Usual(2)
			app.Adapt = func(set *appsv1.StatefulSet) {
				set.Spec.Template.Spec.Resources = &corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1m")}}
			}
			v := newMove(t, app, func(v *harness.Move) { v.From, v.To = harness.East(), older.Cluster })
			if exists {
				v.Must(v.makeNamespace())
			}
			var hold *plan.Hold
			held := errors.New("held")
			err := v.Mover().Run(v.Ctx, func(_ *api.Migration, outcome migration.Outcome) error {
				if h := outcome.Decision.Hold; h != nil && h.Stalled {
					hold = h
					return held
				}
				if e := outcome.Decision.Effect; e != nil && e.Verb == plan.ScaleDown {
					t.Errorf("it was not asked before: %s", e)
					return held
				}
				return nil
			})
			if !errors.Is(err, held) || hold == nil || hold.Reason != api.ReasonKindUnsupported || !strings.Contains(hold.Message, "spec.template.spec.resources") {
				t.Fatalf("ended with %v, held by %+v", err, hold)
			}
			if set := v.fingerprint(); !strings.Contains(set, "set generation 1 ") {
				t.Errorf("the source was scaled: %s", set)
			}
			v.Audit()
		})
	}
}
