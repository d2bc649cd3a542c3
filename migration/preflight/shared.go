package preflight

import (
	"sync"

	corev1 "k8s.io/api/core/v1"

	"github.com/sliceshift/sliceshift/migration/preflight/application"
	"github.com/sliceshift/sliceshift/migration/preflight/environment"
)

// shared is what several checks read: the first one that needs it reads it, and the others wait for that.
type shared struct {
	// volumes are those that are to be moved, and claims their claims.
	volumes once[[]corev1.PersistentVolume]
	claims  once[[]corev1.PersistentVolumeClaim]
	// nodes are the destination's, and texts what the ConfigMaps of the template say.
	nodes once[[]corev1.Node]
	texts once[[]application.Text]
	// bound are the bindings of the pods' account at the source.
	bound once[environment.Bindings]
	// pod is what the destination says to the pod of the first ordinal that is to move.
	pod once[rehearsedPod]
}

// once is a value that is read once.
type once[T any] struct {
	reading sync.Once
	value   T
	err     error
}

func (o *once[T]) of(read func() (T, error)) (T, error) {
	o.reading.Do(func() { o.value, o.err = read() })
	return o.value, o.err
}

// reads is what the checks that are being done share. One that is done alone reads for itself.
func (e *Inspector) reads() *shared {
	if e.shared == nil {
		return &shared{}
	}
	return e.shared
}
