package observe

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sliceshift/sliceshift/migration/endpoint"
	"github.com/sliceshift/sliceshift/migration/scope"
)

// seenFor is how long a namespace that was there is taken to be there: while what the destination
// needs is made in it, one write after the other. Each is refused where it is gone.
const seenFor = 10 * time.Second

// readNamespace looks for the destination's namespace when it is in doubt: its StatefulSet is not
// there. Nothing watches it.
func (e *Observer) readNamespace(ctx context.Context, f *observed, sc scope.Reads) error {
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
		err = nil // whoever may not read namespaces was given one to work in
	case err == nil && namespace == nil:
		f.lacksNamespace = true
	case err == nil:
		e.namespaceSeen = f.now
	}
	return err
}
