package auditor

import "maps"

// served remembers on which side each ordinal has been available since that
// side's range took it in. An ordinal that left the range and one that came into
// it have to prove themselves again; until then the move holds them down.
type served struct {
	ranges    [2]sliceState
	available [2]map[int32]bool
	on        map[int32]sideIndex
	// home is where an ordinal was at the beginning, moved has those that a range
	// of the other side took in since.
	home  map[int32]sideIndex
	moved map[int32]bool
}

// newServed begins with every ordinal served where it is: what is down before the
// move begins is not the move's doing.
func newServed(ranges [2]sliceState, ordinals []int32) *served {
	s := &served{
		ranges:    ranges,
		available: [2]map[int32]bool{{}, {}},
		on:        map[int32]sideIndex{},
		moved:     map[int32]bool{},
	}
	for _, ordinal := range ordinals {
		s.on[ordinal] = nowhere
		for _, side := range bothSides() {
			if ranges[side].owns(ordinal) {
				s.on[ordinal] = side
			}
		}
	}
	s.home = maps.Clone(s.on)
	return s
}

// setRange takes note of a side's range.
func (s *served) setRange(side sideIndex, slice sliceState) {
	s.ranges[side] = slice
	for ordinal, on := range s.on {
		if on == side && !slice.owns(ordinal) {
			s.on[ordinal] = nowhere
		}
		if slice.owns(ordinal) && s.home[ordinal] != side {
			s.moved[ordinal] = true
		}
		s.prove(side, ordinal)
	}
}

// setAvailable takes note of a pod.
func (s *served) setAvailable(side sideIndex, ordinal int32, available bool) {
	s.available[side][ordinal] = available
	s.prove(side, ordinal)
}

// proveAll takes note of what a live read found available.
func (s *served) proveAll(sides [2]replicaSide) {
	for _, side := range bothSides() {
		for _, p := range sides[side].Pods {
			if _, counted := s.on[p.Ordinal]; counted && p.available() && sides[side].Set.owns(p.Ordinal) {
				s.on[p.Ordinal] = side
			}
		}
	}
}

func (s *served) prove(side sideIndex, ordinal int32) {
	_, counted := s.on[ordinal]
	if counted && s.available[side][ordinal] && s.ranges[side].owns(ordinal) {
		s.on[ordinal] = side
	}
}
