package judge

import "maps"

// Served remembers on which side each ordinal has been available since that
// side's range took it in. An ordinal that left the range and one that came into
// it have to prove themselves again; until then the move holds them down.
type Served struct {
	Ranges    [2]SliceState
	available [2]map[int32]bool
	On        map[int32]SideIndex
	// home is where an ordinal was at the beginning, moved has those that a range
	// of the other side took in since.
	home  map[int32]SideIndex
	Moved map[int32]bool
}

// NewServed begins with every ordinal served where it is: what is down before the
// move begins is not the move's doing.
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

// SetRange takes note of a side's range.
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

// SetAvailable takes note of a pod.
func (s *Served) SetAvailable(side SideIndex, ordinal int32, available bool) {
	s.available[side][ordinal] = available
	s.prove(side, ordinal)
}

// ProveAll takes note of what a live read found available.
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
