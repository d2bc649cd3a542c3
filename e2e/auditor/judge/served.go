package judge

import "maps"

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
