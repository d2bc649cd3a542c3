package v1alpha1

import (
	"cmp"
	"slices"
)

// MostInFlight bounds spec.handoff.maxInFlight, and with it the size of the status.
const MostInFlight = 16

// Handoffs returns all handoffs in progress, in the order in which their ordinals move to the destination.
func (s *MigrationStatus) Handoffs() []Handoff {
	if s.Handoff == nil {
		return nil
	}
	return append([]Handoff{*s.Handoff}, s.FurtherHandoffs...)
}

// HandoffOf returns the handoff in progress of an ordinal; nil: it has none.
func (s *MigrationStatus) HandoffOf(ordinal int32) *Handoff {
	if s.Handoff != nil && s.Handoff.Ordinal == ordinal {
		return s.Handoff
	}
	for i := range s.FurtherHandoffs {
		if s.FurtherHandoffs[i].Ordinal == ordinal {
			return &s.FurtherHandoffs[i]
		}
	}
	return nil
}

// StoppedOf returns the record that an ordinal in a handoff is down; nil: there is none.
func (h *History) StoppedOf(ordinal int32) *StoppedOrdinal {
	if h == nil {
		return nil
	}
	if h.Stopped != nil && h.Stopped.Ordinal == ordinal {
		return h.Stopped
	}
	for i := range h.FurtherStopped {
		if h.FurtherStopped[i].Ordinal == ordinal {
			return &h.FurtherStopped[i]
		}
	}
	return nil
}

// FocusOn returns a copy of the migration that shows the handoff of one ordinal as status.handoff, and the others as
// status.furtherHandoffs. With nil, all of them are further ones. It shares everything else with m.
func (m *Migration) FocusOn(ordinal *int32) *Migration {
	focused, all := *m, m.Status.Handoffs()
	focused.Status.Handoff, focused.Status.FurtherHandoffs = nil, all
	if ordinal == nil {
		return &focused
	}
	for i := range all {
		if all[i].Ordinal == *ordinal {
			focused.Status.Handoff, focused.Status.FurtherHandoffs = &all[i], slices.Delete(slices.Clone(all), i, i+1)
		}
	}
	if h := m.Status.History; h != nil && len(h.FurtherStopped) > 0 {
		history := *h
		history.Stopped = h.StoppedOf(*ordinal)
		focused.Status.History = &history
	}
	return &focused
}

// SortHandoffs sorts handoffs in the order in which their ordinals move to the destination.
func SortHandoffs(all []Handoff, order Order) {
	slices.SortFunc(all, func(a, b Handoff) int {
		if order == LowestFirst {
			return cmp.Compare(a.Ordinal, b.Ordinal)
		}
		return cmp.Compare(b.Ordinal, a.Ordinal)
	})
}
