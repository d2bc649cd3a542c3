package inplace

import "slices"

// Place is where the ordinal in flight is.
type Place int

// The places.
const (
	// Nowhere: no ordinal is in flight.
	Nowhere Place = iota
	// Before: it runs on its old volumes, as before its handoff.
	Before
	// Between: a claim was deleted, and its pod runs on borrowed time, or is stopped.
	Between
	// After: its claims exist again, on the volumes on which it goes on.
	After
)

// Where returns where the ordinal in flight is.
func (s Snapshot) Where() Place {
	h := s.Record.Handoff
	if h == nil {
		return Nowhere
	}
	at := slices.IndexFunc(s.Ordinals, func(o Ordinal) bool { return o.Ordinal == h.Ordinal })
	if at < 0 {
		return Between
	}
	f := flight{&planner{Snapshot: s}, *h, s.Ordinals[at]}
	switch {
	case f.onlyRestarts():
		return f.whereRestarting()
	case f.runs():
		return Before
	case slices.ContainsFunc(h.Slots, func(handed Handed) bool {
		slot := f.slot(handed)
		return !f.untouched(handed, slot) && (f.former(handed) || !slot.Claim.Bound || slot.Claim.Volume != f.chosen(slot).Name)
	}):
		return Between
	}
	return After
}

// Behind returns the ordinals whose claims are to change, except the one in flight, ascending.
func (s Snapshot) Behind() []int32 {
	p := &planner{Snapshot: s}
	var behind []int32
	for _, o := range s.Ordinals {
		if inFlight := s.Record.Handoff != nil && s.Record.Handoff.Ordinal == o.Ordinal; !inFlight && p.behind(o) {
			behind = append(behind, o.Ordinal)
		}
	}
	return behind
}
