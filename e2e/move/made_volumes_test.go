package move

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sliceshift/sliceshift/e2e/harness"
	"github.com/sliceshift/sliceshift/migration"
	"github.com/sliceshift/sliceshift/migration/plan"
	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/volumes"
)

// asShipped is a manager that makes no volumes but those that it makes by default.
const asShipped = "--volumes-allow-paths=false"

// withSecretElsewhere gives the volumes credentials of another namespace.
func withSecretElsewhere(v *harness.Move) {
	v.CSI = func(source *corev1.CSIPersistentVolumeSource) {
		source.NodePublishSecretRef = &corev1.SecretReference{Namespace: "kube-system", Name: "root"}
	}
	onCSI(v)
}

// TestVolumesThatAreNotMade: the volumes that a Migration's author would have made are refused
// unless the operator allows them, before anything is changed (S1).
func TestVolumesThatAreNotMade(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		set    harness.Setting
		spoil  func(*move)
		args   []string
		reason string
		says   string
	}{
		"S1 a path without its user's word": {harness.AcrossClusters, func(v *move) { v.Migration.Spec.Volumes = nil }, nil, volumes.ReasonVolumeIsLocal, "--shared data"},
		"S1 a path":                         {harness.AcrossClusters, nil, []string{asShipped}, volumes.ReasonVolumeNotAllowed, "volumes.allowPaths"},
		"S1 a Secret elsewhere":             {withSecretElsewhere, func(v *move) { v.csiNode(9) }, []string{asShipped}, volumes.ReasonVolumeNotAllowed, "kube-system"},
		"S1 another driver":                 {onCSI, func(v *move) { v.csiNode(9) }, []string{"--volumes-drivers", "ebs.csi.aws.com"}, volumes.ReasonVolumeNotAllowed, "ebs.csi.aws.com"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := newMove(t, harness.Usual(1), tc.set)
			c := v.Managed()
			if tc.spoil != nil {
				tc.spoil(v)
			}
			harness.StartManager(t, v.App.Namespace, tc.args...)
			v.expectRefused(c, tc.reason, tc.says)
		})
	}
}

// TestVolumesThatAreMade: what is refused by default is moved where the operator allows it (S1).
func TestVolumesThatAreMade(t *testing.T) {
	t.Parallel()
	v := newMove(t, harness.Usual(1), withSecretElsewhere)
	v.csiNode(9)
	c := v.Managed()
	harness.StartManager(t, v.App.Namespace, asShipped, "--volumes-secret-namespaces", "kube-system", "--volumes-drivers", v.driver())
	v.Must(c.Create(v.Ctx, v.Migration))
	v.awaitMoved(c)
}

// TestTwinInMidMove: a volume of the destination stands for the disk of an ordinal that has not
// moved yet. The ordinal goes on running where it is until that volume is gone (S1).
func TestTwinInMidMove(t *testing.T) {
	t.Parallel()
	v := newMove(t, harness.Usual(2), onCSI)
	v.csiNode(9)
	mover, removed := v.Mover(), false
	v.Drive(mover, func(_ *api.Migration, outcome migration.Outcome) error {
		if e := outcome.Decision.Effect; outcome.Wrote && e.Verb == plan.ScaleUp && e.Ordinal == 1 {
			v.twin()
		}
		hold := outcome.Decision.Hold
		if hold == nil || hold.Reason != volumes.ReasonForeignVolume || removed {
			return nil
		}
		if !strings.Contains(hold.Message, "twin-"+v.App.Namespace) {
			t.Errorf("it does not name the volume: %s", hold.Message)
		}
		if _, err := v.Source.CoreV1().Pods(v.App.Namespace).Get(v.Ctx, "web-0", metav1.GetOptions{}); err != nil {
			t.Errorf("ordinal 0 is down: %v", err)
		}
		removed = true
		return v.Destination.CoreV1().PersistentVolumes().Delete(v.Ctx, "twin-"+v.App.Namespace, metav1.DeleteOptions{})
	})
	if !removed {
		t.Error("the twin was not found")
	}
	v.ExpectMovedCleanly()
}
