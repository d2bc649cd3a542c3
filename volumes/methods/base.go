package methods

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sliceshift/sliceshift/volumes"
	snapshotmanifest "github.com/sliceshift/sliceshift/volumes/snapshot/manifest"
)

// base performs the actions for a warm pass that reads a snapshot of an ordinal's claim instead of the claim.
func (w writer) base(ctx context.Context, pair volumes.Pair) (client.Object, error) {
	switch w.action.Verb {
	case volumes.TakeBase:
		return w.create(ctx, snapshotmanifest.Taken(snapshotmanifest.Mark{Owner: w.Owner, Fence: w.action.Fence}, w.action.Ref, w.action.Copy.Snapshot))
	case volumes.RestoreBase:
		return w.restoreBase(ctx, pair)
	case volumes.DropBase:
		return nil, w.remove(ctx, &corev1.PersistentVolumeClaim{ObjectMeta: w.meta(w.action.Ref.Name)})
	default:
		return nil, w.remove(ctx, snapshotmanifest.Empty(snapshotmanifest.SnapshotKind, w.action.Ref))
	}
}

// restoreBase creates a claim like the ordinal's, of the same size, from its snapshot.
func (w writer) restoreBase(ctx context.Context, pair volumes.Pair) (client.Object, error) {
	from, err := w.own(ctx, pair)
	if err != nil {
		return nil, err
	}
	claim := w.claimOf(from, "")
	claim.Spec.Resources.Requests = corev1.ResourceList{corev1.ResourceStorage: Needed(from)}
	claim.Spec.DataSource = snapshotmanifest.DataSource(w.action.Copy.Snapshot.Source)
	return claim, w.at.Create(ctx, claim)
}
