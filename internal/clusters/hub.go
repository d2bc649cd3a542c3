package clusters

import (
	"hash/maphash"
	"maps"
	"reflect"
	"slices"
	"sync"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Subscription says whom a view is for.
type Subscription struct {
	// Set is the name of the StatefulSet whose objects are looked at.
	Set string
	// Notify is called after every change of what was read in the view or is of the set. It must
	// not block.
	Notify func()
}

// mostAsked is how many objects a subscriber may have asked for by name until all that happens
// wakes it: a set of 1000 ordinals asks for some thousand.
const mostAsked = 1 << 13

// subscriber is one that looks at a view.
type subscriber struct {
	Subscription
	namespace string
	asked     map[uint64]struct{}
}

// question is for an object by its name, whether it exists or not, or, where kind is nil, for the
// volumes of a disk.
type question struct {
	kind reflect.Type
	key  client.ObjectKey
}

func questionOf(object client.Object) question {
	return questionAt(object, client.ObjectKeyFromObject(object))
}

// questionAt is for an object of the same kind as another one.
func questionAt(like client.Object, key client.ObjectKey) question {
	return question{reflect.TypeOf(like), key}
}

// hub finds the subscribers of a connection that an event is about.
type hub struct {
	seed maphash.Seed

	mu sync.Mutex
	// of are the subscribers, by namespace and set.
	of map[string]map[string]map[*subscriber]struct{}
	// asked are those who asked a question. Answers may be large and come from anywhere: of a
	// question only a digest is kept.
	asked map[uint64]map[*subscriber]struct{}
	// curious are those whom everything wakes.
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

// ask notes that a subscriber reads an answer: it is woken when that changes. It is to be called
// before the answer is read.
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

// wonder is for a subscriber that reads more than can be told by name.
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

// joined is false for one that has left: nothing wakes it any more.
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

// setsIn are the sets of a namespace that somebody looks at.
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
