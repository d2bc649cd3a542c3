package execute

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "github.com/sliceshift/sliceshift/api/apps/v1alpha1"
)

// Expectations records the pod writes that the cache does not show yet. A decision on an older state would repeat them. A
// write without a response may have been executed, and is recorded too.
type Expectations struct {
	mu   sync.Mutex
	sets map[types.NamespacedName]map[string]expectation
}

type expectation struct {
	uid     types.UID
	version string
	// newer is true when the cache must show a newer state than version.
	newer   bool
	deleted bool
	at      time.Time
}

// ExpectationTimeout is the time after which the API server is asked whether the cache will ever show a write. The pod may
// have been deleted, or the write may have been lost.
const ExpectationTimeout = 5 * time.Second

// NewExpectations returns empty expectations.
func NewExpectations() *Expectations {
	return &Expectations{sets: map[types.NamespacedName]map[string]expectation{}}
}

// expectVersion records that a pod was created or changed. pod is what the API server returned.
func (e *Expectations) expectVersion(set types.NamespacedName, pod *corev1.Pod, now time.Time) {
	e.note(set, pod.Name, expectation{uid: pod.UID, version: pod.ResourceVersion, at: now})
}

// expectAnswer records that a pod may have been changed by a write without a response.
func (e *Expectations) expectAnswer(set types.NamespacedName, pod *corev1.Pod, now time.Time) {
	e.note(set, pod.Name, expectation{uid: pod.UID, version: pod.ResourceVersion, newer: true, at: now})
}

// expectDeletion records that a pod was deleted.
func (e *Expectations) expectDeletion(set types.NamespacedName, name string, uid types.UID, now time.Time) {
	e.note(set, name, expectation{uid: uid, deleted: true, at: now})
}

// newestVersion returns the resourceVersion of a pod after the last recorded write, or that of the given pod.
func (e *Expectations) newestVersion(set types.NamespacedName, pod *corev1.Pod) string {
	e.mu.Lock()
	defer e.mu.Unlock()
	if last, found := e.sets[set][pod.Name]; found && last.uid == pod.UID && !last.deleted && !last.newer {
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

// Forget removes the expectations of a deleted set.
func (e *Expectations) Forget(set types.NamespacedName) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.sets, set)
}

// Satisfied reports whether the cache shows all recorded writes of a set's pods.
func (e *Expectations) Satisfied(set types.NamespacedName, pods map[int32]*corev1.Pod) bool {
	byName := namesOf(pods)
	e.mu.Lock()
	defer e.mu.Unlock()
	for name, last := range e.sets[set] {
		if last.satisfiedBy(byName[name]) {
			delete(e.sets[set], name)
		}
	}
	return len(e.sets[set]) == 0
}

// overdue returns the names of the pods whose writes the cache has not shown for ExpectationTimeout.
func (e *Expectations) overdue(set types.NamespacedName, now time.Time) (names []string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for name, last := range e.sets[set] {
		if now.Sub(last.at) > ExpectationTimeout {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// drop removes the expectation of a pod.
func (e *Expectations) drop(set types.NamespacedName, name string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.sets[set], name)
}

func namesOf(pods map[int32]*corev1.Pod) map[string]*corev1.Pod {
	byName := make(map[string]*corev1.Pod, len(pods))
	for _, pod := range pods {
		byName[pod.Name] = pod
	}
	return byName
}

// CaughtUp reports whether the cache shows all recorded writes. For overdue writes it reads the pod from the API server, and
// drops the expectation if the cache shows the same state. A cache that lags is waited for as long as necessary.
func (w Writer) CaughtUp(ctx context.Context, set *api.StatefulSet, pods map[int32]*corev1.Pod) (bool, error) {
	key := client.ObjectKeyFromObject(set)
	if w.Expectations.Satisfied(key, pods) {
		return true, nil
	}
	byName := namesOf(pods)
	for _, name := range w.Expectations.overdue(key, w.Now()) {
		live, err := w.livePod(ctx, set, name)
		if err != nil {
			return false, fmt.Errorf("looking for pod %s: %w", name, err)
		}
		if shown := byName[name]; live == nil && shown == nil || live != nil && shown != nil && live.ResourceVersion == shown.ResourceVersion {
			w.Expectations.drop(key, name)
		}
	}
	return w.Expectations.Satisfied(key, pods), nil
}

// livePod returns a pod of the set from the API server, or nil if the set has no such pod.
func (w Writer) livePod(ctx context.Context, set *api.StatefulSet, name string) (*corev1.Pod, error) {
	var found corev1.PodList // list, because a role may grant list on pods without get
	if err := w.Live.List(ctx, &found, client.InNamespace(set.Namespace), client.MatchingFields{metav1.ObjectNameField: name}); err != nil {
		return nil, err
	}
	for i := range found.Items {
		if pod := &found.Items[i]; pod.Name == name && metav1.IsControlledBy(pod, set) {
			return pod, nil
		}
	}
	return nil, nil
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
	return err != nil || order > 0 || order == 0 && !e.newer
}
