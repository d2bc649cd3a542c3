package duel

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// event is something that has happened to a pod.
type event struct {
	what    string
	ordinal int32
	// image tells the revision of a pod that was made.
	image string
}

// What happens to pods.
const (
	created = "create"
	ready   = "ready"
	deleted = "delete"
)

func (e event) String() string {
	if e.image == "" {
		return fmt.Sprintf("%s %d", e.what, e.ordinal)
	}
	return fmt.Sprintf("%s %d@%s", e.what, e.ordinal, e.image)
}

// events are what has happened to the pods of a side.
type events struct {
	set  string
	mu   sync.Mutex
	seen map[types.UID]*podSeen
	all  []event
}

type podSeen struct{ ready, deleted bool }

func newEvents(s *side) *events { return &events{set: s.set, seen: map[types.UID]*podSeen{}} }

// see takes what a watch shows of a pod.
func (e *events) see(pod *corev1.Pod, gone bool) {
	ordinal, ok := ordinalOf(e.set, pod.Name)
	if !ok {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	known := e.seen[pod.UID]
	if known == nil {
		known = &podSeen{}
		e.seen[pod.UID] = known
		e.all = append(e.all, event{created, ordinal, pod.Spec.Containers[0].Image})
	}
	if isReady(pod) && !known.ready && !known.deleted {
		e.all = append(e.all, event{what: ready, ordinal: ordinal})
	}
	known.ready = isReady(pod)
	if (gone || pod.DeletionTimestamp != nil) && !known.deleted {
		known.deleted = true
		e.all = append(e.all, event{what: deleted, ordinal: ordinal})
	}
}

// take returns what has happened since the last time.
func (e *events) take() []event {
	e.mu.Lock()
	defer e.mu.Unlock()
	all := e.all
	e.all = nil
	return all
}

func (e *events) count() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.all)
}

// chains are the events of each ordinal, in their order.
func chains(all []event) map[int32]string {
	byOrdinal := map[int32][]event{}
	for _, one := range all {
		byOrdinal[one.ordinal] = append(byOrdinal[one.ordinal], one)
	}
	texts := map[int32]string{}
	for ordinal, events := range byOrdinal {
		texts[ordinal] = inWords(events)
	}
	return texts
}

// ordered is the order that OrderedReady prescribes. Deletions are left out where several
// pods may go at the same time.
func ordered(all []event, deletions bool) string {
	if !deletions {
		all = slices.DeleteFunc(slices.Clone(all), func(e event) bool { return e.what == deleted })
	}
	return inWords(all)
}

func inWords(all []event) string {
	words := make([]string, 0, len(all))
	for _, one := range all {
		words = append(words, one.String())
	}
	return strings.Join(words, ", ")
}

func ordinalOf(set, name string) (int32, bool) {
	rest, found := strings.CutPrefix(name, set+"-")
	ordinal, err := strconv.ParseInt(rest, 10, 32)
	return int32(ordinal), found && err == nil
}

func isReady(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodRunning && slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}

func revisionOf(pod *corev1.Pod) string { return pod.Labels[appsv1.StatefulSetRevisionLabel] }
