package slim

import (
	"reflect"
	"runtime"
	"sync"
	"weak"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Volumes keeps one copy of each state of a PersistentVolume, because all identities that watch a cluster receive all of its
// volumes. A copy is shared only if the cluster has sent exactly the same object to each identity. No identity therefore
// sees data of another identity or of another identity's cluster. A copy is freed when it is no longer used. It is safe for
// concurrent use.
type Volumes struct {
	mu     sync.Mutex
	states map[state]weak.Pointer[corev1.PersistentVolume]
}

// state identifies a state of a volume, in any cluster.
type state struct {
	uid             types.UID
	resourceVersion string
}

// Once returns an equal object that is already kept, or the given object. Neither may be changed afterwards.
func (v *Volumes) Once(object client.Object) client.Object {
	volume, is := object.(*corev1.PersistentVolume)
	if !is {
		return object
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	at := state{volume.UID, volume.ResourceVersion}
	if known := v.states[at].Value(); known != nil {
		if reflect.DeepEqual(known, volume) {
			return known
		}
		return object // another cluster has a different object
	}
	if v.states == nil {
		v.states = map[state]weak.Pointer[corev1.PersistentVolume]{}
	}
	v.states[at] = weak.Make(volume)
	runtime.AddCleanup(volume, v.forget, at)
	return volume
}

// forget removes a state that is no longer used, unless it was received again.
func (v *Volumes) forget(at state) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.states[at].Value() == nil {
		delete(v.states, at)
	}
}
