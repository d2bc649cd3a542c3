package methods

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sliceshift/sliceshift/volumes"
	snapshotmanifest "github.com/sliceshift/sliceshift/volumes/snapshot/manifest"
)

// base returns a claim like the ordinal's, of the same size, from a snapshot of it. A warm pass reads it instead of the
// ordinal's claim.
func (w writer) base(ctx context.Context, pair volumes.Pair) (client.Object, error) {
	from, err := w.own(ctx, pair)
	if err != nil {
		return nil, err
	}
	claim := w.claimOf(from, "")
	claim.Spec.Resources.Requests = corev1.ResourceList{corev1.ResourceStorage: Needed(from)}
	claim.Spec.DataSource = snapshotmanifest.DataSource(w.action.Copy.Snapshot.Source)
	return claim, nil
}
