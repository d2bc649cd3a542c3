package e2e

import (
	"context"
	"maps"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sliceshift/sliceshift/migration/plan"
	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
)

// inGivenNamespace moves to another cluster, into a namespace that its user makes.
func inGivenNamespace(v *move) {
	acrossClusters(v)
	v.m.Spec.Destination.CreateNamespace = false
	v.deployed = func() { v.must(v.makeNamespace()) }
}

// deleteNamespace deletes the destination's, and waits until it is gone with all that was in it.
func (v *move) deleteNamespace() error {
	namespaces := v.destination.CoreV1().Namespaces()
	if err := namespaces.Delete(v.ctx, v.toNamespace, metav1.DeleteOptions{}); err != nil {
		return err
	}
	v.eventually("the namespace is gone", func(ctx context.Context) (bool, error) {
		_, err := namespaces.Get(ctx, v.toNamespace, metav1.GetOptions{})
		return apierrors.IsNotFound(err), ignoreMissing(err)
	})
	return nil
}

// TestNamespaceDeleted: the namespace of the destination is deleted before it has taken an
// ordinal. It is not made again by whom nobody has asked for that; when its user makes it, the
// move begins anew there (G10).
func TestNamespaceDeleted(t *testing.T) {
	t.Parallel()
	v := newMove(t, usual(2), inGivenNamespace)
	mover := v.mover()
	deleted := wroteOn(plan.DestinationSide, plan.CreateSet)(v.deleteNamespace)
	for range 2 {
		if hold := v.stalls(mover, deleted); hold.Reason != api.ReasonNamespaceMissing {
			t.Errorf("stalled with %+v", hold)
		}
		if _, err := v.destination.CoreV1().Namespaces().Get(v.ctx, v.toNamespace, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
			t.Errorf("the namespace was made again: %v", err)
		}
	}
	v.must(v.makeNamespace())
	v.drive(mover)
	v.expectMoved()
	v.audit()
}

// TestNamespaceDeletedWithOrdinals: an ordinal was there. Nothing is made or stopped any more;
// the disk of the ordinal is behind the source's volume, and comes back from there when a
// person says that the destination is off (G10, G15).
func TestNamespaceDeletedWithOrdinals(t *testing.T) {
	t.Parallel()
	v := newMove(t, usual(3), inGivenNamespace)
	mover, disks := v.mover(), v.disks()
	deleted := arrival(2)(func() error {
		v.auditor.Blame(2)
		return v.deleteNamespace()
	})
	for range 2 {
		if hold := v.stalls(mover, deleted); hold.Reason != api.ReasonDestinationMissing || !contains(hold.Message, "ordinal 2") {
			t.Errorf("stalled with %+v", hold)
		}
		if _, err := v.destination.CoreV1().Namespaces().Get(v.ctx, v.toNamespace, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
			t.Errorf("the namespace was made again: %v", err)
		}
	}
	v.must(mover.Store.SetMode(v.ctx, api.ModeRecover))
	v.recovered()
	v.expectSlice(v.here(), 0, 3)
	v.expectVolumes(v.here(), 3)
	if after := v.disks(); !maps.Equal(after, disks) {
		t.Errorf("the disks are %v, and were %v", after, disks)
	}
	v.audit()
}
