package plan

import (
	"slices"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
)

// Focus selects the handoff that one decision is about, of several that are in flight. The zero value selects
// Record.Handoff.
type Focus struct {
	// Ordinal is the ordinal of the handoff; nil: see Begins.
	Ordinal *int32
	// Begins selects none of them: the decision is about the next handoff, which begins beside them.
	Begins bool
	// Behind is an ordinal in flight that stalls: the selected one, which is beyond it, is not stopped. nil: none does.
	Behind *int32
}

// Of returns the record with the selected handoff as Handoff, and all others as Further.
func (f Focus) Of(record Record) Record {
	switch all := record.InFlight(); {
	case f.Begins:
		record.Handoff, record.Further = nil, all
	case f.Ordinal != nil:
		at := slices.IndexFunc(all, func(h api.Handoff) bool { return h.Ordinal == *f.Ordinal })
		if at < 0 {
			return record
		}
		record.Handoff, record.Further = &all[at], slices.Delete(slices.Clone(all), at, at+1)
		if len(record.Further) == 0 {
			record.Further = nil
		}
	}
	return record
}

// On returns the migration with its handoffs as Of returns those of its record.
func (f Focus) On(m *api.Migration) *api.Migration {
	if f.Begins || f.Ordinal != nil {
		return m.FocusOn(f.Ordinal)
	}
	return m
}

// InFlight returns all handoffs of a record, the one in focus first.
func (r Record) InFlight() []api.Handoff {
	if r.Handoff == nil {
		return slices.Clone(r.Further)
	}
	return append([]api.Handoff{*r.Handoff}, r.Further...)
}

// CountInFlight returns how many ordinals are in flight.
func (r Record) CountInFlight() int32 {
	if r.Handoff == nil {
		return int32(len(r.Further))
	}
	return int32(len(r.Further)) + 1
}

// Moves reports whether an ordinal is in flight.
func (r Record) Moves(ordinal int32) bool {
	return r.Handoff != nil && r.Handoff.Ordinal == ordinal ||
		slices.ContainsFunc(r.Further, func(h api.Handoff) bool { return h.Ordinal == ordinal })
}

// Volume returns the volume that an ordinal in flight had for a claim template; an empty one: it is not in flight, or
// nothing is recorded.
func (r Record) Volume(ordinal int32, template string) api.HandoffVolume {
	for _, h := range r.InFlight() {
		if h.Ordinal == ordinal {
			return h.Volume(template)
		}
	}
	return api.HandoffVolume{}
}

// Idle reports whether no ordinal is in flight.
func (r Record) Idle() bool { return r.Handoff == nil && len(r.Further) == 0 }

// Stored returns the record in the form in which it is kept: whatever handoff was in focus, Handoff is that of the
// ordinal that moves first in this order.
func (r Record) Stored(order api.Order) Record {
	if len(r.Further) == 0 {
		return r
	}
	all := r.InFlight()
	api.SortHandoffs(all, order)
	r.Handoff, r.Further = &all[0], all[1:]
	if len(r.Further) == 0 {
		r.Further = nil
	}
	return r
}
