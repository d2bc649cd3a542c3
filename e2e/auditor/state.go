package auditor

import (
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/sliceshift/sliceshift/e2e/auditor/judge"
)

// state is the auditor's memory between events. The feeds, the samplers and the checks share it.
type state struct {
	mu        sync.Mutex
	served    *judge.Served
	timeline  *judge.Timeline
	lifetimes []judge.Lifetime
	gifts     []judge.Gift
	seen      [2]seen
	recorded  map[judge.VolumeKey]judge.Origin
	byHandle  map[string]judge.VolumeKey
	// dirty are the volumes that changed since their last sample.
	dirty map[judge.VolumeKey]bool
	// verified records on which sides a volume was found with the recorded handle.
	verified map[judge.VolumeKey][2]bool
	// copied are the volumes of copied templates, each the volume that its ordinal ran on last. compared are those
	// that were found with the content of the previous volume.
	copied   map[judge.VolumeKey]judge.Origin
	compared map[judge.VolumeKey]map[judge.Origin]bool
	// sealed are the copied volumes that were compared before a pod existed. sealing counts comparisons in progress.
	sealed  map[judge.VolumeKey]sealedCopy
	sealing map[judge.VolumeKey]int
	// apart records on which sides an ordinal's appearance was checked in time.
	apart  map[int32][2]bool
	blamed map[int32]bool
	// inPlace is nil unless the migration is one in place.
	inPlace *inPlace
	// word is the latest form that the author of the budgets wrote; nil before the first.
	word     *judge.Word
	fewest   int32
	fewestAt time.Time
}

func newState(served *judge.Served) *state {
	s := &state{
		served:   served,
		timeline: judge.NewTimeline(),
		seen:     [2]seen{newSeen(), newSeen()},
		recorded: map[judge.VolumeKey]judge.Origin{},
		byHandle: map[string]judge.VolumeKey{},
		dirty:    map[judge.VolumeKey]bool{},
		apart:    map[int32][2]bool{},
		verified: map[judge.VolumeKey][2]bool{},
		copied:   map[judge.VolumeKey]judge.Origin{},
		compared: map[judge.VolumeKey]map[judge.Origin]bool{},
		sealed:   map[judge.VolumeKey]sealedCopy{},
		sealing:  map[judge.VolumeKey]int{},
		blamed:   map[int32]bool{},
		fewest:   -1,
	}
	return s
}

// do runs f under the lock of the state.
func (s *state) do(f func(*state)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f(s)
}

// origins returns the recorded volumes.
func (s *state) origins() map[judge.VolumeKey]judge.Origin {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.recorded)
}

// remember records a volume's origin unless it is known already.
func (s *state) remember(key judge.VolumeKey, o judge.Origin) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, known := s.recorded[key]; !known {
		s.recorded[key] = o
		s.byHandle[o.Handle] = key
	}
}

// rememberCopied records the volume that an ordinal runs on before the move.
func (s *state) rememberCopied(key judge.VolumeKey, o judge.Origin) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, known := s.copied[key]; !known {
		s.copied[key] = o
		s.ranOn(key, o)
	}
}

// ranOn records that an ordinal of a migration in place has run on a volume. The caller holds the lock.
func (s *state) ranOn(key judge.VolumeKey, o judge.Origin) {
	if s.inPlace == nil {
		return
	}
	s.byHandle[o.Handle] = key
	if _, known := s.inPlace.first[key]; !known {
		s.inPlace.first[key] = o
	}
}

// lastOf returns the volume that an ordinal ran on last.
func (s *state) lastOf(key judge.VolumeKey) judge.Origin {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.copied[key]
}

// copiedOf returns the copied volumes of an ordinal.
func (s *state) copiedOf(ordinal int32) []judge.VolumeKey {
	s.mu.Lock()
	defer s.mu.Unlock()
	var keys []judge.VolumeKey
	for key := range s.copied {
		if key.Ordinal == ordinal {
			keys = append(keys, key)
		}
	}
	slices.SortFunc(keys, judge.CompareKeys)
	return keys
}

// noteCompared records that an ordinal runs on a volume with the content of its previous volume.
func (s *state) noteCompared(key judge.VolumeKey, now judge.Origin) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.copied[key] = now
	s.ranOn(key, now)
	if s.compared[key] == nil {
		s.compared[key] = map[judge.Origin]bool{}
	}
	s.compared[key][now] = true
}

// comparedOn reports whether the volume that an ordinal runs on, on a side, was compared. The caller holds the lock.
func (s *state) comparedOn(key judge.VolumeKey, side judge.SideIndex) bool {
	last := s.copied[key]
	return last.Side == side && s.compared[key][last]
}

// comparisons counts the compared volumes. The caller holds the lock.
func (s *state) comparisons() (n int) {
	for _, volumes := range s.compared {
		n += len(volumes)
	}
	return n
}

// keyOf returns the recorded volume with that handle.
func (s *state) keyOf(handle string) (judge.VolumeKey, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	key, known := s.byHandle[handle]
	return key, known
}

// touch marks volumes for the next sample.
func (s *state) touch(keys ...judge.VolumeKey) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, key := range keys {
		s.dirty[key] = true
	}
}

// takeDirty returns the marked volumes and unmarks them.
func (s *state) takeDirty() []judge.VolumeKey {
	s.mu.Lock()
	defer s.mu.Unlock()
	keys := slices.SortedFunc(maps.Keys(s.dirty), judge.CompareKeys)
	clear(s.dirty)
	return keys
}

// noteApart records that the appearance of an ordinal on a side was checked.
func (s *state) noteApart(ordinal int32, side judge.SideIndex) {
	s.mu.Lock()
	defer s.mu.Unlock()
	on := s.apart[ordinal]
	on[side] = true
	s.apart[ordinal] = on
}

// noteAvailable keeps the lowest number of replicas that were available at once.
func (s *state) noteAvailable(n int32, at time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fewest < 0 || n < s.fewest {
		s.fewest, s.fewestAt = n, at
	}
}

// bear records that a pod exists since a revision. The revision may be later than the true one, never earlier, so it
// cannot invent an overlap.
func (s *state) bear(pod judge.PodState, side judge.SideIndex) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lifetimes = append(s.lifetimes, judge.Lifetime{Pod: pod, Side: side, Born: judge.Revision(pod.RV)})
}

// bury records that a pod was deleted. It returns the pods of the other side that lived at the same time, and the
// gifts that may have happened too early.
func (s *state) bury(pod judge.PodState, died uint64) ([]judge.Lifetime, []judge.Gift) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range s.lifetimes {
		l := &s.lifetimes[i]
		if l.Pod.UID == pod.UID && l.Died == 0 {
			l.Died = died
			return judge.Overlapping(*l, s.lifetimes), slices.Clone(s.gifts)
		}
	}
	return nil, nil
}

// give records that a volume was given to a side.
func (s *state) give(g judge.Gift) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.gifts = append(s.gifts, g)
}

// lingering returns the pods that lived when the volume was given.
func (s *state) lingering(g judge.Gift) []judge.Lifetime {
	s.mu.Lock()
	defer s.mu.Unlock()
	return g.Lingering(s.lifetimes)
}
