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

// event is an event of a pod.
type event struct {
	what    string
	ordinal int32
	// image identifies the revision of a created pod.
	image string
}

// The events of a pod.
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

// events records the events of the pods of a side.
type events struct {
	set  string
	mu   sync.Mutex
	seen map[types.UID]*podSeen
	all  []event
}

type podSeen struct{ ready, deleted bool }

func newEvents(s *side) *events { return &events{set: s.set, seen: map[types.UID]*podSeen{}} }

// see records a state of a pod from a watch.
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

// take returns the events since the last call.
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

// chains returns the events of each ordinal, in their order.
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

// ordered returns the events in the order that OrderedReady prescribes. Deletions are omitted where several pods may
// be deleted at the same time.
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
