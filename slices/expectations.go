package slices

import (
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
)

// Expectations are the writes of pods that the cache does not show yet: what is decided on
// an older state would be done twice.
type Expectations struct {
	mu   sync.Mutex
	sets map[types.NamespacedName]map[string]expectation
}

type expectation struct {
	uid     types.UID
	version string
	deleted bool
	at      time.Time
}

// ExpectationTimeout bounds how long the cache is waited for: the pod may be gone meanwhile.
const ExpectationTimeout = 5 * time.Second

// NewExpectations are those of a controller that has written nothing yet.
func NewExpectations() *Expectations {
	return &Expectations{sets: map[types.NamespacedName]map[string]expectation{}}
}

// expectVersion notes that a pod was created or changed; pod is what the API server returned.
func (e *Expectations) expectVersion(set types.NamespacedName, pod *corev1.Pod, now time.Time) {
	e.note(set, pod.Name, expectation{uid: pod.UID, version: pod.ResourceVersion, at: now})
}

// expectDeletion notes that a pod was deleted.
func (e *Expectations) expectDeletion(set types.NamespacedName, name string, uid types.UID, now time.Time) {
	e.note(set, name, expectation{uid: uid, deleted: true, at: now})
}

// newestVersion is the resourceVersion of a pod after its last write, if there was one since
// the pod was read.
func (e *Expectations) newestVersion(set types.NamespacedName, pod *corev1.Pod) string {
	e.mu.Lock()
	defer e.mu.Unlock()
	if last, found := e.sets[set][pod.Name]; found && last.uid == pod.UID && !last.deleted {
		return last.version
	}
	return pod.ResourceVersion
}

func (e *Expectations) note(set types.NamespacedName, name string, last expectation) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.sets[set] == nil {
		e.sets[set] = map[string]expectation{}
	}
	e.sets[set][name] = last
}

// Forget is for a set that is gone.
func (e *Expectations) Forget(set types.NamespacedName) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.sets, set)
}

// Satisfied says whether the cache shows all that was written of a set's pods.
func (e *Expectations) Satisfied(set types.NamespacedName, pods map[int32]*corev1.Pod, now time.Time) bool {
	byName := make(map[string]*corev1.Pod, len(pods))
	for _, pod := range pods {
		byName[pod.Name] = pod
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	for name, last := range e.sets[set] {
		if last.satisfiedBy(byName[name]) || now.Sub(last.at) > ExpectationTimeout {
			delete(e.sets[set], name)
		}
	}
	return len(e.sets[set]) == 0
}

func (e expectation) satisfiedBy(pod *corev1.Pod) bool {
	switch {
	case e.deleted:
		return pod == nil || pod.UID != e.uid || pod.DeletionTimestamp != nil
	case pod == nil:
		return false
	case pod.UID != e.uid:
		return true
	}
	order, err := resourceversion.CompareResourceVersion(pod.ResourceVersion, e.version)
	return err != nil || order >= 0
}
