package preflight

import (
	"sync"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"

	"github.com/sliceshift/sliceshift/migration/outlook"
	"github.com/sliceshift/sliceshift/migration/preflight/application"
	"github.com/sliceshift/sliceshift/migration/preflight/environment"
)

// shared holds reads of several checks: the first check that needs one does it, and the others wait.
type shared struct {
	// volumes are the source's volumes that move, and claims their claims.
	volumes once[[]corev1.PersistentVolume]
	claims  once[[]corev1.PersistentVolumeClaim]
	// nodes are the destination's nodes, and texts the content of the template's ConfigMaps.
	nodes once[[]corev1.Node]
	texts once[[]application.Text]
	// classes are the destination's storage classes.
	classes once[[]storagev1.StorageClass]
	// bound are the bindings of the pods' account at the source.
	bound once[environment.Bindings]
	// inPlace is the state of a change of storage in place.
	inPlace once[outlook.State]
	// pod is the answer to the dry run of the first pod that moves.
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

// reads returns the shared reads of this run. A check outside a run does its own reads.
func (e *Inspector) reads() *shared {
	if e.shared == nil {
		return &shared{}
	}
	return e.shared
}
