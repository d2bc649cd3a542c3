package judge

import (
	"maps"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// Served records on which side each ordinal has been available since it entered that side's range. An ordinal that
// left or entered a range must become available again. Until then the move holds it down.
type Served struct {
	Ranges    [2]SliceState
	available [2]map[int32]bool
	On        map[int32]SideIndex
	// home is the side of each ordinal at the beginning. Moved has the ordinals that entered the other side's range
	// since.
	home  map[int32]SideIndex
	Moved map[int32]bool
}

// NewServed treats every ordinal as served where it is: an ordinal that is down before the move begins is not down
// because of the move.
func NewServed(ranges [2]SliceState, ordinals []int32) *Served {
	s := &Served{
		Ranges:    ranges,
		available: [2]map[int32]bool{{}, {}},
		On:        map[int32]SideIndex{},
		Moved:     map[int32]bool{},
	}
	for _, ordinal := range ordinals {
		s.On[ordinal] = Nowhere
		for _, side := range BothSides() {
			if ranges[side].Owns(ordinal) {
				s.On[ordinal] = side
			}
		}
	}
	s.home = maps.Clone(s.On)
	return s
}

// SetRange records a side's range.
func (s *Served) SetRange(side SideIndex, slice SliceState) {
	s.Ranges[side] = slice
	for ordinal, on := range s.On {
		if on == side && !slice.Owns(ordinal) {
			s.On[ordinal] = Nowhere
		}
		if slice.Owns(ordinal) && s.home[ordinal] != side {
			s.Moved[ordinal] = true
		}
		s.prove(side, ordinal)
	}
}

// SetAvailable records whether a side's pod of the ordinal is available.
func (s *Served) SetAvailable(side SideIndex, ordinal int32, available bool) {
	s.available[side][ordinal] = available
	s.prove(side, ordinal)
}

// ProveAll records the pods that a live read found available.
func (s *Served) ProveAll(sides [2]ReplicaSide) {
	for _, side := range BothSides() {
		for _, p := range sides[side].Pods {
			if _, counted := s.On[p.Ordinal]; counted && p.Available() && sides[side].Set.Owns(p.Ordinal) {
				s.On[p.Ordinal] = side
			}
		}
	}
}

func (s *Served) prove(side SideIndex, ordinal int32) {
	_, counted := s.On[ordinal]
	if counted && s.available[side][ordinal] && s.Ranges[side].Owns(ordinal) {
		s.On[ordinal] = side
	}
}

// ordinalTrack holds the known state of one ordinal between the sides.
type ordinalTrack struct {
	// ran is the side on which the ordinal was last available.
	ran           SideIndex
	stopped, gone time.Time
	up            [2]bool
}

// Timeline derives the moves of each ordinal from the events of the pods. The times are those at which the auditor
// received them.
type Timeline struct {
	tracks map[int32]*ordinalTrack
	Moves  []OrdinalTime
}

// NewTimeline returns an empty Timeline.
func NewTimeline() *Timeline {
	return &Timeline{tracks: map[int32]*ordinalTrack{}}
}

// Observe records the pod of one ordinal on one side.
func (t *Timeline) Observe(side SideIndex, pod PodState, exists bool, at time.Time) {
	track := t.tracks[pod.Ordinal]
	if track == nil {
		track = &ordinalTrack{ran: Nowhere}
		t.tracks[pod.Ordinal] = track
	}
	up := exists && pod.Available()
	was := track.up[side]
	track.up[side] = up
	switch {
	case up && !was:
		t.arrive(track, side, pod.Ordinal, at)
	case !up && was && track.ran == side:
		track.stopped = at
	}
	if !exists && track.ran == side {
		track.gone = at
	}
}

// arrive closes a move if the ordinal last ran on the other side.
func (t *Timeline) arrive(track *ordinalTrack, side SideIndex, ordinal int32, at time.Time) {
	if track.ran == side.Other() {
		move := OrdinalTime{
			Ordinal: ordinal,
			From:    track.ran.String(),
			To:      side.String(),
			Stopped: track.stopped,
			Gone:    track.gone,
			Ready:   at,
		}
		if !track.stopped.IsZero() {
			move.Down.Duration = at.Sub(track.stopped)
		}
		t.Moves = append(t.Moves, move)
	}
	track.ran, track.stopped, track.gone = side, time.Time{}, time.Time{}
}

// OrdinalTime is one move of one ordinal, by the auditor's clock.
type OrdinalTime struct {
	Ordinal int32  `json:"ordinal"`
	From    string `json:"from"`
	To      string `json:"to"`
	// Stopped is when the pod was no longer available on the From side, Gone when its object no longer existed, Ready
	// when the pod of the To side was Ready.
	Stopped time.Time `json:"stopped,omitzero"`
	Gone    time.Time `json:"gone,omitzero"`
	Ready   time.Time `json:"ready"`
	// Down is the time from Stopped to Ready.
	Down metav1.Duration `json:"down"`
}

// heardWithin is the time allowed for a stop that began before the author wrote. followedWithin is the time after
// which the budgets of the two sides must be within the author's latest form.
const (
	heardWithin    = 2 * time.Second
	followedWithin = time.Minute
)

// Word is the latest form that the author of the PodDisruptionBudgets wrote.
type Word struct {
	Min, Max *intstr.IntOrString
	// Budget is d.
	Budget int32
	At     time.Time
	// held are the ordinals that the move already held down.
	held []int32
}

// Follow returns the word after a version of a budget was seen. A form that the move wrote changes nothing, nor does
// one equal to the author's last form.
func (w *Word) Follow(b DisruptionBudget, replicas int32, now time.Time) *Word {
	if b.WrittenBy == "" || w != nil && same(w.Min, b.MinAvailable) && same(w.Max, b.MaxUnavailable) {
		return w
	}
	return &Word{Min: b.MinAvailable, Max: b.MaxUnavailable, Budget: max(0, replicas-b.desiredHealthy(replicas)), At: now}
}

func same(a, b *intstr.IntOrString) bool {
	return a == nil && b == nil || a != nil && b != nil && *a == *b
}

// Breaks reports whether the move exceeds the author's latest form: it stops an ordinal that it did not hold down
// then. Evictions that the author may do under a form that is a moment old are not caused by the move.
func (w *Word) Breaks(v BudgetVerdict, now time.Time) bool {
	if now.Sub(w.At) <= heardWithin {
		w.held = append(w.held, v.Held...)
	}
	w.held = slices.DeleteFunc(w.held, func(ordinal int32) bool { return !slices.Contains(v.Held, ordinal) })
	if int32(len(v.Held))+v.Allowed <= w.Budget {
		return false
	}
	return now.Sub(w.At) > followedWithin || slices.ContainsFunc(v.Held, func(ordinal int32) bool { return !slices.Contains(w.held, ordinal) })
}
