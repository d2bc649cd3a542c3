// Package handoffs follows the handoffs of one migration through its status: when one has begun, how
// long its ordinal stayed at each step and what it waited for there, and how it ended. It is what
// metrics and traces are made of. Nothing is decided by it, and nothing is read for it.
package handoffs

import (
	"time"

	"k8s.io/apimachinery/pkg/types"

	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
)

// Outcome is how a handoff, or a stay at one of its steps, has ended.
type Outcome string

// The outcomes.
const (
	// Arrived: the ordinal is available at the side that took it.
	Arrived Outcome = "arrived"
	// TurnedBack: the direction was turned while it was on its way. The way back is another handoff.
	TurnedBack Outcome = "turned_back"
	// Withdrawn: the ordinal stays where it was, and had not been stopped: a gate has closed, or the
	// migration was paused.
	Withdrawn Outcome = "withdrawn"
	// Done is of a step only: the ordinal went on to another one, or arrived.
	Done Outcome = "done"
)

// Handoff is one ordinal on its way in one direction.
type Handoff struct {
	Migration types.UID
	Ordinal   int32
	Direction api.Direction
	// Start is when it began, or was turned round, as the status has it: to the microsecond.
	Start time.Time
}

// Wait is what a step began to wait for, and when.
type Wait struct {
	Reason string
	Time   time.Time
}

// Stay is the time that an ordinal has spent at one step of its handoff.
type Stay struct {
	Step       api.Step
	Start, End time.Time
	// Waits are what it waited for, in their order.
	Waits   []Wait
	Outcome Outcome
}

// Ending is how a handoff has ended.
type Ending struct {
	Handoff
	End      time.Time
	Outcome  Outcome
	Attempts int32
}

// Changes are what a look has shown. The zero value is nothing.
type Changes struct {
	// Current is the handoff under way, if any.
	Current *Handoff
	// Begun is a handoff that was not under way at the look before.
	Begun *Handoff
	// Stay is one that has ended, of the handoff Of.
	Stay *Stay
	Of   Handoff
	// Ended is the handoff that was under way at the look before, and is not any more.
	Ended *Ending
}

// Look is what one pass over a migration has come to.
type Look struct {
	Now time.Time
	// Step is where the ordinal is; empty: as before.
	Step api.Step
	// Reason is what is waited for; empty: nothing is.
	Reason string
}

// Tracker follows the handoffs of one migration. The zero value has seen nothing; it is not safe for
// concurrent use.
type Tracker struct {
	// looked is true once a status was seen.
	looked  bool
	current *underway
}

// underway is the handoff that was seen last.
type underway struct {
	Handoff
	attempts int32
	stay     Stay
	// down is since when the ordinal has been down; zero: it is not.
	down time.Time
}

// See takes the status that a pass has left. A handoff that was under way before the first look is
// followed from there, and not told of as begun.
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
		if changes.Ended != nil && changes.Ended.Outcome == TurnedBack {
			t.current.down = before.down
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

// Down is since when the ordinal on its way has been down; false: it is not, or none is on its way.
func (t *Tracker) Down() (since time.Time, down bool) {
	if t.current == nil || t.current.down.IsZero() {
		return time.Time{}, false
	}
	return t.current.down, true
}

func handoffOf(m *api.Migration) *Handoff {
	handoff := m.Status.Handoff
	if handoff == nil {
		return nil
	}
	direction := api.Forward
	if fence := m.Status.Fence; fence != nil {
		direction = fence.Direction
	}
	return &Handoff{Migration: m.UID, Ordinal: handoff.Ordinal, Direction: direction, Start: micro(handoff.StartTime.Time)}
}

// micro is a time as the status keeps it.
func micro(t time.Time) time.Time { return time.UnixMicro(t.UnixMicro()).UTC() }

func begin(h Handoff, recorded *api.Handoff, fresh bool, look Look) *underway {
	u := &underway{Handoff: h, attempts: recorded.Attempts, stay: Stay{Step: recorded.Step, Start: h.Start}}
	if fresh {
		return u
	}
	// Another process has begun it. How long the ordinal has been at its step is known where that was
	// written down, and it is not taken for up while it may be down.
	u.stay.Start = look.Now
	if !recorded.StepTime.IsZero() && (look.Step == "" || look.Step == recorded.Step) {
		u.stay.Start = recorded.StepTime.Time
	}
	if look.Step != "" {
		u.stay.Step = look.Step
	}
	if stopped(u.stay.Step) {
		u.down = h.Start
	}
	u.wait(look)
	return u
}

// see notes a look at the same handoff, and returns the stay that has ended.
func (u *underway) see(look Look) *Stay {
	var ended *Stay
	if look.Step != "" && look.Step != u.stay.Step {
		ended = u.leave(look.Now, Done)
		u.stay = Stay{Step: look.Step, Start: look.Now}
		switch {
		case !stopped(look.Step):
			u.down = time.Time{}
		case u.down.IsZero():
			u.down = look.Now
		}
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

// mostWaits bounds what is kept of a stay: two reasons may take turns for days.
const mostWaits = 32

func (u *underway) leave(now time.Time, outcome Outcome) *Stay {
	stay := u.stay
	stay.End, stay.Outcome = later(now, stay.Start), outcome
	return &stay
}

func (u *underway) end(m *api.Migration, next *Handoff, now time.Time) *Ending {
	ending := &Ending{Handoff: u.Handoff, End: later(now, u.Start), Outcome: Withdrawn, Attempts: u.attempts}
	if past := lastOf(m.Status.History); past != nil && past.Outcome == "" && past.Ordinal == u.Ordinal && micro(past.StartTime.Time).Equal(u.Start) {
		ending.Outcome, ending.Attempts, ending.End = Arrived, past.Attempts, later(past.EndTime.Time, u.Start)
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

// later is the later one of two times: clocks of two processes differ.
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

// stopped says whether an ordinal that is at a step is down.
func stopped(step api.Step) bool {
	switch step {
	case api.StepAwaitRelease, api.StepCarryVolumes, api.StepScaleUp, api.StepAwaitReadiness:
		return true
	default:
		return false
	}
}
