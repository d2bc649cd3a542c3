package clusters

import (
	"hash/maphash"
	"maps"
	"reflect"
	"slices"
	"sync"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Subscription describes the user of a view.
type Subscription struct {
	// Set is the name of the StatefulSet whose objects are needed.
	Set string
	// Notify is called after each change of an object that was read in the view or belongs to the set. It must not block.
	Notify func()
}

// mostAsked is the maximum number of questions of a subscriber. Beyond it, every event wakes the subscriber. A set of 1000
// ordinals asks a few thousand.
const mostAsked = 1 << 13

// subscriber is the subscriber of a view.
type subscriber struct {
	Subscription
	namespace string
	asked     map[uint64]struct{}
}

// question identifies an object by its name, whether it exists or not. If kind is nil, it identifies the volumes of a disk.
type question struct {
	kind reflect.Type
	key  client.ObjectKey
}

func questionOf(object client.Object) question {
	return questionAt(object, client.ObjectKeyFromObject(object))
}

// questionAt returns the question for a key and the kind of another object.
func questionAt(like client.Object, key client.ObjectKey) question {
	return question{reflect.TypeOf(like), key}
}

// hub finds the subscribers that an event concerns.
type hub struct {
	seed maphash.Seed

	mu sync.Mutex
	// of holds the subscribers, by namespace and set.
	of map[string]map[string]map[*subscriber]struct{}
	// asked holds the subscribers of each question. It keeps only a digest of a question, because names may be large and
	// come from untrusted clusters.
	asked map[uint64]map[*subscriber]struct{}
	// curious holds the subscribers that every event wakes.
	curious map[*subscriber]struct{}
}

func newHub() *hub {
	return &hub{
		seed: maphash.MakeSeed(), of: map[string]map[string]map[*subscriber]struct{}{},
		asked: map[uint64]map[*subscriber]struct{}{}, curious: map[*subscriber]struct{}{},
	}
}

func (h *hub) join(s *subscriber) {
	h.mu.Lock()
	defer h.mu.Unlock()
	sets := h.of[s.namespace]
	if sets == nil {
		sets = map[string]map[*subscriber]struct{}{}
		h.of[s.namespace] = sets
	}
	if sets[s.Set] == nil {
		sets[s.Set] = map[*subscriber]struct{}{}
	}
	sets[s.Set][s] = struct{}{}
}

func (h *hub) leave(s *subscriber) {
	h.mu.Lock()
	defer h.mu.Unlock()
	sets := h.of[s.namespace]
	if delete(sets[s.Set], s); len(sets[s.Set]) == 0 {
		delete(sets, s.Set)
	}
	if len(sets) == 0 {
		delete(h.of, s.namespace)
	}
	h.forget(s)
	delete(h.curious, s)
}

// ask records that a subscriber reads an object, so that a change wakes it. It must be called before the read.
func (h *hub) ask(s *subscriber, q question) {
	digest := maphash.Comparable(h.seed, q)
	h.mu.Lock()
	defer h.mu.Unlock()
	_, known := s.asked[digest]
	_, all := h.curious[s]
	switch {
	case known || all || !h.joined(s):
		return
	case len(s.asked) >= mostAsked:
		h.askAll(s)
		return
	}
	s.asked[digest] = struct{}{}
	if h.asked[digest] == nil {
		h.asked[digest] = map[*subscriber]struct{}{}
	}
	h.asked[digest][s] = struct{}{}
}

// wonder makes every event wake a subscriber that reads more than single names.
func (h *hub) wonder(s *subscriber) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.askAll(s)
}

func (h *hub) askAll(s *subscriber) {
	if h.joined(s) {
		h.curious[s] = struct{}{}
		h.forget(s)
	}
}

// joined reports whether a subscriber has not left. Nothing wakes it after that.
func (h *hub) joined(s *subscriber) bool {
	_, is := h.of[s.namespace][s.Set][s]
	return is
}

func (h *hub) forget(s *subscriber) {
	for digest := range s.asked {
		if delete(h.asked[digest], s); len(h.asked[digest]) == 0 {
			delete(h.asked, digest)
		}
	}
	clear(s.asked)
}

// setsIn returns the sets of a namespace that have subscribers.
func (h *hub) setsIn(namespace string) []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Collect(maps.Keys(h.of[namespace]))
}

// wake notifies an audience.
func (h *hub) wake(a audience) {
	h.mu.Lock()
	defer h.mu.Unlock()
	woken := maps.Clone(h.curious)
	for _, q := range a.questions {
		maps.Copy(woken, h.asked[maphash.Comparable(h.seed, q)])
	}
	for _, at := range a.sets {
		maps.Copy(woken, h.of[at.Namespace][at.Name])
	}
	for namespace, sets := range h.of {
		if a.everyone || a.namespaces[namespace] {
			for _, of := range sets {
				maps.Copy(woken, of)
			}
		}
	}
	for s := range woken {
		s.Notify()
	}
}
