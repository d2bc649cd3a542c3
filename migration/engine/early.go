package engine

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/migration/planner"
	"github.com/sliceshift/sliceshift/migration/world"
)

// earlyCopies are the copies that are made ahead of their ordinals' turns.
type earlyCopies struct {
	// due is when they are checked next.
	due time.Time
	// held maps an ordinal to the reason that holds its copy; nil means that none was tried yet.
	held map[int32]heldCopy
}

// heldCopy is the reason that holds the copy of an ordinal ahead of its turn.
type heldCopy struct {
	hold plan.Hold
	// found is where the reason was found.
	found foundIn
	// again is when the copy is tried again.
	again time.Time
}

// foundIn is where the reason that holds a copy was found.
type foundIn int

const (
	// inAnswer means that a write was refused. The hold ends when a write lands.
	inAnswer foundIn = iota
	// inSnapshot means that the reason was observed. The hold ends when it is not observed any more.
	inSnapshot
)

// keep drops the reasons that hold copies of other ordinals. It is known that none is held once the source was
// read and has no such copy.
func (c *earlyCopies) keep(ordinals []int32, read bool) {
	maps.DeleteFunc(c.held, func(k int32, _ heldCopy) bool { return !slices.Contains(ordinals, k) })
	if c.held == nil && read && len(ordinals) == 0 {
		c.held = map[int32]heldCopy{}
	}
}

// hold records the reason that holds an ordinal's copy and where it was found, or removes it if it does not apply
// any more. A write that lands does not remove a reason that was observed in a snapshot.
func (c *earlyCopies) hold(ordinal int32, hold *plan.Hold, found foundIn, ends bool, now time.Time) {
	if c.held == nil {
		c.held = map[int32]heldCopy{}
	}
	switch {
	case hold != nil:
		c.held[ordinal] = heldCopy{hold: *hold, found: found, again: now.Add(planner.RequeueRefused)}
	case ends && (found == inSnapshot || c.held[ordinal].found == inAnswer):
		delete(c.held, ordinal)
	}
}

// copyEarly continues the copies of ordinals ahead of their turns while the migration itself waits. It writes at
// most once.
func (e *Engine) copyEarly(ctx context.Context, m *api.Migration, outcome *Outcome) error {
	ordinals := planner.EarlyOrdinals(outcome.Snapshot)
	e.early.keep(ordinals, outcome.Snapshot.Source.Reach == plan.Seen)
	if len(ordinals) == 0 {
		return nil
	}
	if left := e.early.due.Sub(e.clock.Now()); left > 0 {
		outcome.RequeueAfter = min(outcome.RequeueAfter, left)
		return nil
	}
	for _, ordinal := range ordinals {
		if e.clock.Now().Before(e.early.held[ordinal].again) {
			continue
		}
		wrote, err := e.earlyOf(ctx, m, ordinal)
		if err != nil {
			return err
		}
		if wrote {
			outcome.RequeueAfter = planner.RequeueUnobserved
			return nil
		}
	}
	e.early.due = e.clock.Now().Add(planner.EarlyLook)
	outcome.RequeueAfter = min(outcome.RequeueAfter, planner.EarlyLook)
	return nil
}

// earlyOf takes the next action for the copy of one such ordinal, and reports whether it wrote.
func (e *Engine) earlyOf(ctx context.Context, m *api.Migration, ordinal int32) (wrote bool, err error) {
	step := e.state.BeginEarly(ordinal)
	for step.Do == planner.Read {
		snapshot := e.world.Snapshot(ctx, world.AsHandoff(m, ordinal), step.Reads)
		snapshot.Record, snapshot.Early = world.RecordOf(m), &ordinal
		e.hampered(&snapshot)
		e.relay(snapshot)
		step = e.state.Next(step, snapshot)
	}
	switch step.Do {
	case planner.Write:
		step, wrote = e.write(ctx, m, step)
		e.early.hold(ordinal, step.Decision.Hold, inAnswer, wrote, e.clock.Now())
	case planner.Report:
		e.early.hold(ordinal, step.Decision.Hold, inSnapshot, true, e.clock.Now())
	case planner.SaveRecord:
		before := m.DeepCopy()
		applyRecord(m, *step.Decision.Record)
		if m.Status.History != nil { // a proof that is over may leave the record before the next pass renders the history
			noteProofs(m.Status.History, m.Status.Proofs)
		}
		err = e.status.write(ctx, m)
		e.save(step, m, err)
		if lost := notStored(err); lost != nil {
			return false, e.holdUnstoredEarly(ctx, before, m, lost, ordinal)
		}
		if err != nil {
			before.DeepCopyInto(m)
			return false, fmt.Errorf("writing the status of Migration %s/%s: %w", m.Namespace, m.Name, err)
		}
		wrote = true
	default:
	}
	return wrote, nil
}
