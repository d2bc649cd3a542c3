package move

import (
	"context"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/e2e/harness"
	"github.com/sliceshift/sliceshift/migration/plan"
)

// inGivenNamespace moves to another cluster, into a namespace that the user creates.
func inGivenNamespace(v *harness.Move) {
	harness.AcrossClusters(v)
	v.Migration.Spec.Destination.CreateNamespace = false
	v.Deployed = func() { v.Must((&move{Move: v}).makeNamespace()) }
}

// deleteNamespace deletes the destination's namespace and waits until it is removed with all of its objects.
func (v *move) deleteNamespace() error {
	namespaces := v.Destination.CoreV1().Namespaces()
	if err := namespaces.Delete(v.Ctx, v.ToNamespace, metav1.DeleteOptions{}); err != nil {
		return err
	}
	v.Eventually("the namespace is gone", func(ctx context.Context) (bool, error) {
		_, err := namespaces.Get(ctx, v.ToNamespace, metav1.GetOptions{})
		return apierrors.IsNotFound(err), ignoreMissing(err)
	})
	return nil
}

// TestNamespaceDeleted: the destination's namespace is deleted before it has received an ordinal. The migration
// does not create it again, because it was not told to create it. After the user recreates it, the move starts
// again there (G10).
func TestNamespaceDeleted(t *testing.T) {
	t.Parallel()
	v := newMove(t, harness.Usual(2), inGivenNamespace)
	mover := v.Mover()
	deleted := harness.WroteOn(plan.DestinationSide, plan.CreateSet)(v.deleteNamespace)
	for range 2 {
		if hold := v.stalls(mover, deleted); hold.Reason != api.ReasonNamespaceMissing {
			t.Errorf("stalled with %+v", hold)
		}
		if _, err := v.Destination.CoreV1().Namespaces().Get(v.Ctx, v.ToNamespace, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
			t.Errorf("the namespace was made again: %v", err)
		}
	}
	v.Must(v.makeNamespace())
	v.Drive(mover)
	v.ExpectMovedCleanly()
}

// TestNamespaceDeletedWithOrdinals: the deleted namespace had an ordinal. The migration then creates and stops
// nothing. The source's volume still refers to the ordinal's disk, and recovery restores it from there once the
// user confirms that the destination is off (G10, G15).
func TestNamespaceDeletedWithOrdinals(t *testing.T) {
	t.Parallel()
	v := newMove(t, harness.Usual(3), inGivenNamespace)
	mover, disks := v.Mover(), v.disks()
	deleted := harness.Arrival(2)(func() error {
		v.Auditor.Blame(2)
		return v.deleteNamespace()
	})
	for range 2 {
		if hold := v.stalls(mover, deleted); hold.Reason != api.ReasonDestinationMissing || !strings.Contains(hold.Message, "ordinal 2") {
			t.Errorf("stalled with %+v", hold)
		}
		if _, err := v.Destination.CoreV1().Namespaces().Get(v.Ctx, v.ToNamespace, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
			t.Errorf("the namespace was made again: %v", err)
		}
	}
	v.Must(mover.Store.SetMode(v.Ctx, api.ModeRecover))
	v.recovered()
	v.expectOnFormerDisks(3, disks)
	v.Audit()
}
