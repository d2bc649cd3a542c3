package slices

import (
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
)

// ledger remembers the writes of pods that the cache has not shown yet: what is
// decided on a world from before them would be done twice.
type ledger struct {
	mu   sync.Mutex
	sets map[types.NamespacedName]map[string]entry
}

type entry struct {
	uid     types.UID
	version string
	deleted bool
	at      time.Time
}

// forgetAfter bounds how long a write is waited for: the pod may be gone meanwhile.
const forgetAfter = 5 * time.Second

func newLedger() *ledger { return &ledger{sets: map[types.NamespacedName]map[string]entry{}} }

// wrote notes that a pod was created or changed; pod is what came back.
func (l *ledger) wrote(set types.NamespacedName, pod *corev1.Pod, now time.Time) {
	l.note(set, pod.Name, entry{uid: pod.UID, version: pod.ResourceVersion, at: now})
}

// deleted notes that a pod was deleted.
func (l *ledger) deleted(set types.NamespacedName, name string, uid types.UID, now time.Time) {
	l.note(set, name, entry{uid: uid, deleted: true, at: now})
}

// newest is the version of a pod after the last write of it, if there was one since the
// pod was read.
func (l *ledger) newest(set types.NamespacedName, pod *corev1.Pod) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if e, found := l.sets[set][pod.Name]; found && e.uid == pod.UID && !e.deleted {
		return e.version
	}
	return pod.ResourceVersion
}

func (l *ledger) note(set types.NamespacedName, name string, e entry) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.sets[set] == nil {
		l.sets[set] = map[string]entry{}
	}
	l.sets[set][name] = e
}

// forget is for a set that is gone.
func (l *ledger) forget(set types.NamespacedName) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.sets, set)
}

// shown says whether the cache shows all that was written of a set's pods.
func (l *ledger) shown(set types.NamespacedName, pods map[string]*corev1.Pod, now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	for name, e := range l.sets[set] {
		if e.shownBy(pods[name]) || now.Sub(e.at) > forgetAfter {
			delete(l.sets[set], name)
		}
	}
	return len(l.sets[set]) == 0
}

func (e entry) shownBy(pod *corev1.Pod) bool {
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
