package records

import (
	"context"

	corev1 "k8s.io/api/core/v1"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/internal/clusters"
)

// Follow watches a migration and sends its states. If the receiver is slower, it gets only the latest state. stop ends the
// watch.
func Follow(ctx context.Context, connection *clusters.Connection, store Store) (changes <-chan *api.Migration, stop func(), err error) {
	return clusters.Follow(ctx, connection, store.Watched(), func(object any) (*api.Migration, bool) { return decoded(store, object) })
}

func decoded(store Store, object any) (*api.Migration, bool) {
	switch object := object.(type) {
	case *api.Migration:
		return object.DeepCopy(), true
	case *corev1.ConfigMap:
		if in, ok := store.(ConfigMap); ok {
			m, err := in.decode(object)
			return m, err == nil // the next Load returns the error
		}
	}
	return nil, false
}
