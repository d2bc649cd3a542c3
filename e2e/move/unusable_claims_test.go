package move

import (
	"context"
	"fmt"
	"strings"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/e2e/harness"
	"github.com/sliceshift/sliceshift/migration/engine"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/volumes"
)

// hasty makes the steps of a move stall after three seconds.
func hasty(s *api.MigrationSpec) { s.Handoff.ProgressDeadlineSeconds = ptr.To[int32](3) }

// backUpOn runs a pod of another user on a claim of the source. With onNode, the pod names its node and needs
// no scheduler.
func (v *move) backUpOn(claim string, onNode bool) error {
	if !onNode {
		return v.backUp(claim)
	}
	nodes, err := v.Source.CoreV1().Nodes().List(v.Ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "backup"},
		Spec: corev1.PodSpec{
			NodeName:   nodes.Items[0].Name,
			Containers: []corev1.Container{{Name: "backup", Image: "backup:1"}},
			Volumes: []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{
				PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claim},
			}}},
		},
	}
	_, err = v.Source.CoreV1().Pods(v.App.Namespace).Create(v.Ctx, pod, metav1.CreateOptions{})
	return err
}

// keepClaimsOut refuses every new claim at the destination, except in a dry run.
func (v *move) keepClaimsOut() {
	v.T.Helper()
	at, probe := v.There(), &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Name: "probe"},
		Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			Resources:   corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Mi")}},
		},
	}
	v.policy(at, keptOut(at), admissionregistrationv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"persistentvolumeclaims"}},
		admissionregistrationv1.Validation{Expression: `request.dryRun && object.metadata.name != "probe"`, Message: "no claims here"})
	v.Eventually("claims are kept out", func(ctx context.Context) (bool, error) {
		_, err := at.Client.CoreV1().PersistentVolumeClaims(at.Namespace).Create(ctx, probe, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		return err != nil && strings.Contains(err.Error(), "no claims here"), nil
	})
}

// carried returns the moment at which a side carried out this volume step for an ordinal.
func carried(side plan.SideName, ordinal int32, verb volumes.Verb) harness.Moment {
	return harness.Wrote(func(e *plan.Effect) bool {
		return e.Side == side && e.Verb == plan.CarryVolume && e.Ordinal == ordinal && e.Volume.Verb == verb
	})
}

// TestH4PodNamesAParkedClaim: after an ordinal's volume was parked, a pod of another user names its claim. The
// pod can never mount the volume, so the ordinal does not wait for it.
func TestH4PodNamesAParkedClaim(t *testing.T) {
	for _, onNode := range []bool{false, true} {
		t.Run(fmt.Sprintf("bound to a node %t", onNode), func(t *testing.T) {
			t.Parallel()
			v := newMove(t, harness.Usual(3), harness.AcrossClusters, harness.WithSpec(hasty))
			v.Must(v.makeNamespace())
			v.keepClaimsOut()
			refused := false
			v.Run(carried(plan.DestinationSide, 2, volumes.CreateVolume)(func() error {
				return v.backUpOn("data-web-2", onNode)
			}), harness.StalledWith(api.ReasonWriteRefused)(func() error {
				refused = true
				return v.letPodsIn(v.There())
			}), func(_ *api.Migration, outcome engine.Outcome) error {
				if hold := outcome.Decision.Hold; hold != nil && hold.Stalled && hold.Reason == api.ReasonClaimInUse {
					return fmt.Errorf("an ordinal that is down waits for a pod that cannot mount its volume: %s", hold.Message)
				}
				return nil
			})
			if !refused {
				t.Error("the claim was not refused")
			}
			v.ExpectMovedCleanly()
		})
	}
}

// TestH4RollbackWithAPodOnTheParkedClaim: the ordinal does not start at the destination, and meanwhile a pod at
// the source names its claim there. The rollback still takes the ordinal back.
func TestH4RollbackWithAPodOnTheParkedClaim(t *testing.T) {
	t.Parallel()
	v := newMove(t, harness.Usual(3), harness.AcrossClusters, harness.WithSpec(hasty))
	v.Must(v.makeNamespace())
	v.keepPodsOut(v.There())
	mover := v.Mover()
	v.Drive(mover, harness.StalledWith(api.ReasonPodMissing)(func() error {
		if err := v.backUpOn("data-web-2", true); err != nil {
			return err
		}
		return mover.Store.SetMode(v.Ctx, api.ModeRollback)
	}), func(_ *api.Migration, outcome engine.Outcome) error {
		if hold := outcome.Decision.Hold; hold != nil && hold.Stalled && hold.Reason == api.ReasonClaimInUse {
			return fmt.Errorf("the way back waits for a pod that cannot mount the volume: %s", hold.Message)
		}
		return nil
	})
	v.ExpectBack()
	v.Audit()
}

// TestP12PodUsesTheClaim: a pod of another user mounts the claim of an ordinal that will move. Plan and run
// name the pod, and a run with --exit-on-stall exits.
func TestP12PodUsesTheClaim(t *testing.T) {
	t.Parallel()
	v := newMove(t, harness.Usual(2), harness.AcrossClusters)
	v.Must(v.backUp("data-web-0"))
	before := v.fingerprint()
	for _, words := range [][]string{{"plan"}, {"preflight"}, {"run", "--exit-on-stall", "--timeout", "60s"}} {
		if out := v.exits(v.cli(words[0], words[1:]...), 3); !strings.Contains(out, "backup") || strings.Contains(out, api.ReasonVolumeAttached) {
			t.Errorf("%v does not name the pod alone:\n%s", words, out)
		}
	}
	v.expectUnchanged(before)
}

// TestP12PodUsesTheClaimInMidMove: the same during a move, before the ordinal is stopped.
func TestP12PodUsesTheClaimInMidMove(t *testing.T) {
	t.Parallel()
	v := newMove(t, harness.Usual(3), harness.AcrossClusters)
	stalled := false
	v.Run(harness.Arrival(2)(func() error { return v.backUp("data-web-1") }), harness.StalledWith(api.ReasonClaimInUse)(func() error {
		stalled = true
		if ready, err := v.isReady(v.Here(), "web-1"); !ready || err != nil {
			return fmt.Errorf("web-1 is Ready: %t (%w)", ready, err)
		}
		return v.Source.CoreV1().Pods(v.App.Namespace).Delete(v.Ctx, "backup", metav1.DeleteOptions{})
	}))
	if !stalled {
		t.Error("it did not stall")
	}
	v.ExpectMovedCleanly()
}

// TestP13AttachedElsewhere: a volume of an ordinal that will move is attached to a node that does not exist.
// Plan and run report it, and a run with --exit-on-stall exits.
func TestP13AttachedElsewhere(t *testing.T) {
	t.Parallel()
	v := newMove(t, harness.Usual(2), harness.AcrossClusters)
	claim, err := v.Source.CoreV1().PersistentVolumeClaims(v.App.Namespace).Get(v.Ctx, "data-web-1", metav1.GetOptions{})
	v.Must(err)
	v.Must(v.attach("attach-"+v.App.Namespace, claim.Spec.VolumeName, "gone"))
	before := v.fingerprint()
	for _, words := range [][]string{{"plan"}, {"preflight"}, {"run", "--exit-on-stall", "--timeout", "60s"}} {
		if out := v.exits(v.cli(words[0], words[1:]...), 3); !strings.Contains(out, "node gone") {
			t.Errorf("%v does not name the node:\n%s", words, out)
		}
	}
	v.expectUnchanged(before)
	v.Must(v.Source.StorageV1().VolumeAttachments().Delete(v.Ctx, "attach-"+v.App.Namespace, metav1.DeleteOptions{}))
}
