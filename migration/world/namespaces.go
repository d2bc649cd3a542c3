package world

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sliceshift/sliceshift/migration/endpoint"
	"github.com/sliceshift/sliceshift/migration/planner"
)

// seenFor is how long an existing namespace is assumed to exist, while several writes create the destination's
// objects in it. Each of these writes fails if it was deleted.
const seenFor = 10 * time.Second

// readNamespace reads the destination's namespace if its StatefulSet does not exist. Namespaces are not watched.
func (e *Observer) readNamespace(ctx context.Context, f *observed, sc planner.Reads) error {
	if f.set != nil {
		e.namespaceSeen = time.Time{}
		return nil
	}
	if f.err != nil {
		return f.err
	}
	if f.lost || !sc.Namespace || f.now.Sub(e.namespaceSeen) < seenFor {
		return nil
	}
	namespace, err := endpoint.Get[corev1.Namespace](ctx, f.endpoint.Live, client.ObjectKey{Name: f.endpoint.Namespace})
	switch {
	case apierrors.IsForbidden(err):
		err = nil // an identity without this right was given an existing namespace
	case err == nil && namespace == nil:
		f.lacksNamespace = true
	case err == nil:
		e.namespaceSeen = f.now
	}
	return err
}
