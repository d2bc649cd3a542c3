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

// Volumes keeps each state of a PersistentVolume once, however many have been told of it: all identities that
// watch a cluster are told of all of its volumes. Each must have been told of it, word for word, by the cluster
// itself: nobody is shown what another one may see, nor what another one's cluster has said. What is kept goes
// when nobody has it any more. It is safe for concurrent use.
type Volumes struct {
	mu     sync.Mutex
	states map[state]weak.Pointer[corev1.PersistentVolume]
}

// state is one of a volume, of whatever cluster.
type state struct {
	uid             types.UID
	resourceVersion string
}

// Once is an object that is the same as the one that is given, and is to be kept in its place. Neither is to be
// changed any more.
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
		return object // another cluster says otherwise
	}
	if v.states == nil {
		v.states = map[state]weak.Pointer[corev1.PersistentVolume]{}
	}
	v.states[at] = weak.Make(volume)
	runtime.AddCleanup(volume, v.forget, at)
	return volume
}

// forget is for a state that nobody keeps any more, unless somebody was told of it again.
func (v *Volumes) forget(at state) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.states[at].Value() == nil {
		delete(v.states, at)
	}
}
