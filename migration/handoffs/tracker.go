// Package handoffs derives the handoffs of one migration from its status. It reports when each began, how long its
// ordinal stayed at each step, the reasons for its waits, and its outcome. Metrics and traces use it. It makes no
// decisions and causes no reads.
package handoffs

import (
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
)

// Outcome is the end of a handoff, or of a stay at one of its steps.
type Outcome string

// Outcomes of a handoff or a stay.
const (
	// Arrived: the ordinal is available on the side that took it.
	Arrived Outcome = "arrived"
	// TurnedBack: the direction changed while the ordinal was in flight. Its return is another handoff.
	TurnedBack Outcome = "turned_back"
	// Withdrawn: the ordinal was not stopped and remains at the giver, because a gate has closed or the migration
	// was paused.
	Withdrawn Outcome = "withdrawn"
	// Done is only for a step: the ordinal entered another step, or arrived.
	Done Outcome = "done"
)

// Handoff is the movement of one ordinal in one direction.
type Handoff struct {
	Migration types.UID
	Ordinal   int32
	Direction api.Direction
	// Start is when it began, or changed direction, with the microsecond precision of the status.
	Start time.Time
}

// Wait is the reason of a wait within a step, and its start.
type Wait struct {
	Reason string
	Time   time.Time
}

// Stay is the time that an ordinal has spent at one step of its handoff.
type Stay struct {
	Step       api.Step
	Start, End time.Time
	// Waits lists the waits in their order.
	Waits   []Wait
	Outcome Outcome
}

// Ending is the end of a handoff.
type Ending struct {
	Handoff
	End      time.Time
	Outcome  Outcome
	Attempts int32
	// Past is the entry of the history; nil if the ordinal has not arrived.
	Past *api.PastHandoff
}

// Changes are the differences between two looks. The zero value is none.
type Changes struct {
	// Current is the handoff in flight, if any.
	Current *Handoff
	// Begun is a handoff that was not in flight at the previous look.
	Begun *Handoff
	// Stay is a stay that has ended, of the handoff Of.
	Stay *Stay
	Of   Handoff
	// Ended is the handoff that was in flight at the previous look, and no longer is.
	Ended *Ending
}

// Look is the result of one pass over a migration.
type Look struct {
	Now time.Time
	// Step is the step of the ordinal; empty: unchanged.
	Step api.Step
	// Reason is the reason of the wait; empty: there is none.
	Reason string
}

// Tracker tracks the handoffs of one migration. The zero value has seen no status. It is not safe for concurrent
// use.
type Tracker struct {
	// looked is true once a status was seen.
	looked  bool
	current *underway
	// beside holds the handoffs that are in flight together, by ordinal; then current is nil.
	beside map[int32]*Tracker
}

// underway is the handoff that was seen last.
type underway struct {
	Handoff
	attempts int32
	stay     Stay
}

// See processes the status after a pass. A handoff that was in flight before the first look is tracked from there,
// and not reported as begun.
func (t *Tracker) See(m *api.Migration, look Look) Changes {
	changes, seen := Changes{}, handoffOf(m)
	before := t.current
	if before != nil && (seen == nil || before.Handoff != *seen) {
		changes.Of, changes.Ended = before.Handoff, before.end(m, seen, look.Now)
		changes.Stay = before.leave(changes.Ended.End, stepOutcome(changes.Ended.Outcome))
		t.current = nil
	}
	switch {
	case seen == nil:
	case t.current == nil:
		t.current = begin(*seen, m.Status.Handoff, t.looked, look)
		if t.looked {
			changes.Begun = seen
		}
	default:
		if stay := t.current.see(look); stay != nil {
			changes.Of, changes.Stay = *seen, stay
		}
		t.current.attempts = m.Status.Handoff.Attempts
	}
	t.looked = true
	changes.Current = seen
	return changes
}

// SeeAll is See for a migration that may have several handoffs in flight. It returns the changes of each. about is the
// ordinal that the look is about; nil: the one of status.handoff.
func (t *Tracker) SeeAll(m *api.Migration, about *int32, look Look) []Changes {
	if len(m.Status.FurtherHandoffs) == 0 && len(t.beside) == 0 {
		return []Changes{t.See(m, look)}
	}
	if t.beside == nil {
		t.beside = map[int32]*Tracker{}
	}
	if t.current != nil {
		t.beside[t.current.Ordinal], t.current = &Tracker{looked: true, current: t.current}, nil
	}
	for _, handoff := range m.Status.Handoffs() {
		if t.beside[handoff.Ordinal] == nil {
			t.beside[handoff.Ordinal] = &Tracker{looked: t.looked}
		}
	}
	var all []Changes
	for _, ordinal := range slices.Sorted(maps.Keys(t.beside)) {
		own, each := t.beside[ordinal], Look{Now: look.Now}
		recorded := m.Status.HandoffOf(ordinal)
		switch {
		case recorded == nil:
			all = append(all, own.See(m.FocusOn(nil), each))
			delete(t.beside, ordinal)
			continue
		case about == nil && m.Status.Handoff.Ordinal == ordinal, about != nil && *about == ordinal:
			each = look
		default:
			each.Step = recorded.Step
		}
		all = append(all, own.See(m.FocusOn(&ordinal), each))
	}
	t.looked = true
	if len(m.Status.FurtherHandoffs) == 0 {
		for _, last := range t.beside {
			t.current = last.current
		}
		t.beside = nil
	}
	return all
}

func handoffOf(m *api.Migration) *Handoff {
	handoff := m.Status.Handoff
	if handoff == nil {
		return nil
	}
	return &Handoff{Migration: m.UID, Ordinal: handoff.Ordinal, Direction: m.Status.Fence.Heading(), Start: micro(handoff.StartTime.Time)}
}

// micro rounds a time to the precision of the status.
func micro(t time.Time) time.Time { return time.UnixMicro(t.UnixMicro()).UTC() }

func begin(h Handoff, recorded *api.Handoff, fresh bool, look Look) *underway {
	u := &underway{Handoff: h, attempts: recorded.Attempts, stay: Stay{Step: recorded.Step, Start: h.Start}}
	if fresh {
		return u
	}
	// Another process has begun the handoff. The start of the current stay is known only if it was recorded.
	u.stay.Start = look.Now
	if !recorded.StepTime.IsZero() && (look.Step == "" || look.Step == recorded.Step) {
		u.stay.Start = recorded.StepTime.Time
	}
	if look.Step != "" {
		u.stay.Step = look.Step
	}
	u.wait(look)
	return u
}

// see processes a look at the same handoff, and returns the stay that has ended.
func (u *underway) see(look Look) *Stay {
	var ended *Stay
	if look.Step != "" && look.Step != u.stay.Step {
		ended = u.leave(look.Now, Done)
		u.stay = Stay{Step: look.Step, Start: look.Now}
	}
	u.wait(look)
	return ended
}

func (u *underway) wait(look Look) {
	known := len(u.stay.Waits)
	if look.Reason == "" || known > 0 && u.stay.Waits[known-1].Reason == look.Reason || known == mostWaits {
		return
	}
	u.stay.Waits = append(u.stay.Waits, Wait{Reason: look.Reason, Time: look.Now})
}

// mostWaits bounds the recorded waits of a stay: two reasons may alternate for days.
const mostWaits = 32

func (u *underway) leave(now time.Time, outcome Outcome) *Stay {
	stay := u.stay
	stay.End, stay.Outcome = later(now, stay.Start), outcome
	return &stay
}

func (u *underway) end(m *api.Migration, next *Handoff, now time.Time) *Ending {
	ending := &Ending{Handoff: u.Handoff, End: later(now, u.Start), Outcome: Withdrawn, Attempts: u.attempts}
	if past := lastOf(m.Status.History); past != nil && past.Outcome == "" && past.Ordinal == u.Ordinal && micro(past.StartTime.Time).Equal(u.Start) {
		ending.Outcome, ending.Attempts, ending.End, ending.Past = Arrived, past.Attempts, later(past.EndTime.Time, u.Start), new(*past)
	} else if next != nil && next.Ordinal == u.Ordinal && next.Direction != u.Direction {
		ending.Outcome = TurnedBack
	}
	return ending
}

func lastOf(h *api.History) *api.PastHandoff {
	if h == nil || len(h.Handoffs) == 0 {
		return nil
	}
	return &h.Handoffs[len(h.Handoffs)-1]
}

// later returns the later of two times, because the clocks of two processes differ.
func later(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}

func stepOutcome(of Outcome) Outcome {
	if of == Arrived {
		return Done
	}
	return of
}
