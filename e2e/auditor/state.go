package auditor

import (
	"maps"
	"slices"
	"sync"
	"time"
)

// state is what the auditor remembers between events. The feeds, the samplers and
// the checks share it.
type state struct {
	mu        sync.Mutex
	served    *served
	timeline  *timeline
	lifetimes []lifetime
	gifts     []gift
	seen      [2]seen
	recorded  map[volumeKey]origin
	byHandle  map[string]volumeKey
	// dirty are the volumes of which something changed since their last sample.
	dirty map[volumeKey]bool
	// verified says on which sides a volume was found with the recorded handle.
	verified map[volumeKey][2]bool
	// apart says on which sides an ordinal's appearance was checked in time.
	apart    map[int32][2]bool
	blamed   map[int32]bool
	fewest   int32
	fewestAt time.Time
}

func newState(served *served) *state {
	s := &state{
		served:   served,
		timeline: newTimeline(),
		seen:     [2]seen{newSeen(), newSeen()},
		recorded: map[volumeKey]origin{},
		byHandle: map[string]volumeKey{},
		dirty:    map[volumeKey]bool{},
		apart:    map[int32][2]bool{},
		verified: map[volumeKey][2]bool{},
		blamed:   map[int32]bool{},
		fewest:   -1,
	}
	return s
}

// do runs f while nobody else changes the state.
func (s *state) do(f func(*state)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f(s)
}

// origins returns the recorded volumes.
func (s *state) origins() map[volumeKey]origin {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.recorded)
}

// remember records a volume's origin unless it is known already.
func (s *state) remember(key volumeKey, o origin) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, known := s.recorded[key]; !known {
		s.recorded[key] = o
		s.byHandle[o.Handle] = key
	}
}

// keyOf returns the recorded volume with that handle.
func (s *state) keyOf(handle string) (volumeKey, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	key, known := s.byHandle[handle]
	return key, known
}

// touch marks volumes for the next sample.
func (s *state) touch(keys ...volumeKey) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, key := range keys {
		s.dirty[key] = true
	}
}

// takeDirty returns the marked volumes and unmarks them.
func (s *state) takeDirty() []volumeKey {
	s.mu.Lock()
	defer s.mu.Unlock()
	keys := slices.SortedFunc(maps.Keys(s.dirty), compareKeys)
	clear(s.dirty)
	return keys
}

// noteApart notes that the appearance of an ordinal on a side was checked.
func (s *state) noteApart(ordinal int32, side sideIndex) {
	s.mu.Lock()
	defer s.mu.Unlock()
	on := s.apart[ordinal]
	on[side] = true
	s.apart[ordinal] = on
}

// noteAvailable keeps the fewest replicas that were available at once.
func (s *state) noteAvailable(n int32, at time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fewest < 0 || n < s.fewest {
		s.fewest, s.fewestAt = n, at
	}
}

// bear notes that a pod exists since a revision. The revision may be later than
// the truth, never earlier, so that it cannot make an overlap up.
func (s *state) bear(pod podState, side sideIndex) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lifetimes = append(s.lifetimes, lifetime{Pod: pod, Side: side, Born: revision(pod.RV)})
}

// bury notes that a pod is gone. It returns the pods of the other side that lived
// while it did, and the gifts that may have been made too early.
func (s *state) bury(pod podState, died uint64) ([]lifetime, []gift) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range s.lifetimes {
		l := &s.lifetimes[i]
		if l.Pod.UID == pod.UID && l.Died == 0 {
			l.Died = died
			return overlapping(*l, s.lifetimes), slices.Clone(s.gifts)
		}
	}
	return nil, nil
}

// give notes that a volume was given to a side.
func (s *state) give(g gift) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.gifts = append(s.gifts, g)
}

// lingering returns the pods that lived when the volume was given.
func (s *state) lingering(g gift) []lifetime {
	s.mu.Lock()
	defer s.mu.Unlock()
	return g.lingering(s.lifetimes)
}
