package move

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/e2e/harness"
	"github.com/sliceshift/sliceshift/migration/engine"
	"github.com/sliceshift/sliceshift/volumes"
)

// TestServiceTypeChangedInMidCopy: the address of a receiver's Service is unreachable from the other cluster,
// while an ordinal runs or while it is down for its copy. After the Service type is changed, the Service is
// recreated and all ordinals arrive.
func TestServiceTypeChangedInMidCopy(t *testing.T) {
	for name, tc := range map[string]struct {
		warm api.CopyWarmMode
		role volumes.Role
	}{
		"while it runs":    {api.CopyWarmAuto, volumes.RoleWarm},
		"while it is down": {api.CopyWarmNone, volumes.RoleSender},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := newMove(t, harness.Usual(2), harness.AcrossClusters, byCopy, func(v *harness.Move) {
				asked := &v.Migration.Spec.Volumes[0].Copy
				asked.ServiceType, asked.Warm = corev1.ServiceTypeClusterIP, tc.warm
			})
			before, mover, services := v.filled(), v.Mover(), map[volumes.Verb]int{}
			reached := v.Migration.Spec.Volumes[0]
			reached.Copy.ServiceType = corev1.ServiceTypeLoadBalancer
			v.Drive(mover,
				harness.CopyStep(volumes.TellMover, tc.role)(v.asks(mover.Store, reached)),
				func(_ *api.Migration, outcome engine.Outcome) error {
					if outcome.Wrote {
						services[outcome.Decision.Effect.Volume.Verb]++
					}
					return nil
				})
			v.ExpectMoved()
			if services[volumes.CreateEntrance] != 3 || services[volumes.DeleteEntrance] != 1 {
				t.Errorf("%d Services were made and %d deleted, want one for each ordinal, and a second one for that which was under way", services[volumes.CreateEntrance], services[volumes.DeleteEntrance])
			}
			v.expectCopies(v.There(), before)
			v.expectSeals()
			v.expectNoMovers()
			v.Audit()
		})
	}
}
