package methods

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/volumes"
	"github.com/sliceshift/sliceshift/volumes/snapshot/manifest"
)

// TestBase: the claim that a warm pass reads is like the ordinal's, on its side, with the same size, class and
// modes, and with no label of the application. The claim and its snapshot are both deleted.
func TestBase(t *testing.T) {
	s := newSides(t)
	claim := &corev1.PersistentVolumeClaim{}
	if err := s.Giver.Get(t.Context(), client.ObjectKey{Namespace: "shop", Name: "data-web-0"}, claim); err != nil {
		t.Fatal(err)
	}
	claim.Status.Capacity = corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("3Gi")}
	if err := s.Giver.Status().Update(t.Context(), claim); err != nil {
		t.Fatal(err)
	}
	ref := volumes.Ref{Namespace: "shop", Name: "base"}
	do := func(action volumes.Action) error {
		action.Ref, action.Fence, action.AtGiver = ref, owner+".1", true
		_, err := Write(t.Context(), s.Carrier, action, s.pair)
		return err
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(do(volumes.Action{Verb: volumes.TakeBase, Copy: volumes.CopyAction{Snapshot: volumes.SnapshotAction{Class: "nightly", Claim: "data-web-0"}}}))
	taken := s.get(s.Giver, manifest.SnapshotKind, ref)
	if view := manifest.ViewSnapshot(taken, owner); !view.Ours || view.Claim != "data-web-0" || view.Released != "" {
		t.Errorf("%+v", view)
	}
	must(do(volumes.Action{Verb: volumes.RestoreBase, Copy: volumes.CopyAction{Snapshot: volumes.SnapshotAction{Source: "base"}}}))
	base := &corev1.PersistentVolumeClaim{}
	must(s.Giver.Get(t.Context(), client.ObjectKey{Namespace: "shop", Name: "base"}, base))
	size := base.Spec.Resources.Requests[corev1.ResourceStorage]
	if manifest.SourceOf(base) != "base" || *base.Spec.StorageClassName != "slow" || *base.Spec.VolumeMode != corev1.PersistentVolumeBlock || size.String() != "3Gi" ||
		base.Labels[api.MigrationLabelKey] != owner {
		t.Errorf("%+v", base)
	}
	must(do(volumes.Action{Verb: volumes.DropBase, UID: base.UID, ResourceVersion: base.ResourceVersion}))
	must(do(volumes.Action{Verb: volumes.DropBaseSnapshot, UID: taken.GetUID(), ResourceVersion: taken.GetResourceVersion()}))
	if err := s.Giver.Get(t.Context(), client.ObjectKey{Namespace: "shop", Name: "base"}, base); !apierrors.IsNotFound(err) {
		t.Errorf("the claim: %v", err)
	}
	if err := s.Giver.Get(t.Context(), client.ObjectKeyFromObject(taken), taken); !apierrors.IsNotFound(err) {
		t.Errorf("the VolumeSnapshot: %v", err)
	}
}
