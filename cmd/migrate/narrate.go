package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/sliceshift/sliceshift/migration"
	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
)

// narrator turns the passes of an engine into events for people: each thing once, when it
// happens.
type narrator struct {
	progress
	mode     api.Mode
	replicas int32
	// shown is the hold that was reported last.
	shown *migration.Hold
	took  []time.Duration
	// fewest is the fewest available replicas that were observed; -1: none yet.
	fewest int32
	writes int
}

func newNarrator(now time.Time, m *api.Migration) *narrator {
	n := &narrator{progress: progress{start: now}, mode: m.Spec.Mode, fewest: -1}
	n.moved, n.total = arrived(m.Status), m.Status.Total
	n.back = m.Status.Claim != nil && m.Status.Claim.Direction == api.Back
	if h := m.Status.Handoff; h != nil {
		n.ordinal, n.since = &h.Ordinal, h.StartTime.Time
	}
	return n
}

// expect says how many ordinals are to move, of how many replicas, before anything was seen.
func (n *narrator) expect(total, replicas int32) { n.total, n.replicas = total, replicas }

// event fills in what all events say.
func (n *narrator) event(now time.Time, kind eventKind, message string) event {
	elapsed := now.Sub(n.start)
	return event{Time: now.UTC(), ElapsedSeconds: rounded(elapsed), elapsed: elapsed, Kind: kind, Message: message, Moved: n.moved, Total: n.total}
}

// of says which ordinal an event is about.
func (e event) of(ordinal *int32, step api.Step) event {
	e.Ordinal, e.Step = ordinal, step
	return e
}

// tell returns the events of a pass.
func (n *narrator) tell(now time.Time, m *api.Migration, outcome migration.Outcome) []event {
	var events []event
	if mode := m.Spec.Mode; mode != n.mode && mode != "" {
		n.mode = mode
		events = append(events, n.event(now, eventMode, modeText(mode)))
	}
	if outcome.Wrote {
		events = append(events, n.written(now, outcome))
	}
	n.measure(now, m, outcome)
	if done := outcome.Finished; done != nil {
		events = append(events, n.landed(now, done))
	}
	n.follow(now, m, outcome.Decision)
	events = append(events, n.holds(now, m, outcome)...)
	if outcome.Done {
		events = append(events, n.completed(now, outcome.Decision))
	}
	return events
}

// written is the event of a write. The names of volumes are long and say little: people
// read the claim template instead.
func (n *narrator) written(now time.Time, outcome migration.Outcome) event {
	n.writes++
	effect := *outcome.Decision.Effect
	e := n.event(now, eventWritten, effect.String()).of(n.ordinal, outcome.Decision.Step)
	e.Side, e.Verb, e.Object, e.short = effect.Side, effect.Verb, objectOf(effect), e.Message
	if effect.OfOrdinal() {
		e.Ordinal = &effect.Ordinal
	}
	name, volume := strings.CutPrefix(e.Object, "persistentvolume/")
	if template := templateOf(outcome.Snapshot, e.Object); volume && template != "" {
		e.short = strings.ReplaceAll(e.Message, name, template)
	}
	return e
}

func modeText(mode api.Mode) string {
	switch mode {
	case api.ModePause:
		return "mode is now Pause: no further ordinal begins"
	case api.ModeRollback:
		return "mode is now Rollback: every ordinal goes back to the source"
	case api.ModeRecover:
		return "mode is now Recover: every ordinal goes back to the source, and the destination is not asked"
	default:
		return "mode is now Run: going on to the destination"
	}
}

// landed is the event of a finished handoff.
func (n *narrator) landed(now time.Time, done *api.Handoff) event {
	began := done.StartTime.Time
	if n.ordinal != nil && *n.ordinal == done.Ordinal {
		began = n.since
	}
	took := max(0, now.Sub(began))
	if n.fresh {
		n.took = append(n.took, took)
		var sum time.Duration
		for _, each := range n.took {
			sum += each
		}
		n.mean = sum / time.Duration(len(n.took))
	}
	text := fmt.Sprintf("ordinal %d is available at the destination after %s (%d/%d)", done.Ordinal, duration(took), n.moved, n.total)
	if n.back {
		text = fmt.Sprintf("ordinal %d is available at the source again after %s (%d left)", done.Ordinal, duration(took), n.moved)
	}
	e := n.event(now, eventOrdinal, text).of(&done.Ordinal, "")
	seconds := rounded(took)
	e.Seconds = &seconds
	return e
}

// holds are the events of a wait or a stall, when it is a new one.
func (n *narrator) holds(now time.Time, m *api.Migration, outcome migration.Outcome) []event {
	hold := outcome.Decision.Hold
	switch {
	case hold == nil && !outcome.Wrote && !outcome.Saved, hold != nil && hold.Reason == api.ReasonMoving:
		return nil // nothing was observed, or it has changed since
	case hold == nil:
		stalled := n.shown != nil && n.shown.Stalled
		n.shown, n.hold = nil, nil
		if stalled && outcome.Finished == nil {
			return []event{n.event(now, eventGoingOn, "going on: what had stalled it is gone").of(n.ordinal, n.step)}
		}
		return nil
	}
	return n.holdOn(now, *hold, m.Status.Handoff)
}

// holdOn is the event of a hold, unless it was reported already.
func (n *narrator) holdOn(now time.Time, hold migration.Hold, handoff *api.Handoff) []event {
	if n.hold == nil || n.hold.Reason != hold.Reason {
		n.holdSince = now
	}
	known := n.shown != nil && same(*n.shown, hold)
	n.hold, n.shown = &hold, &hold
	if known {
		return nil
	}
	kind := eventWaiting
	if hold.Stalled {
		kind = eventStalled
	}
	e := n.event(now, kind, hold.Message)
	if handoff != nil {
		e = e.of(n.ordinal, n.step)
	}
	e.Reason = hold.Reason
	if hold.Stalled {
		e.Remedy = hold.Remedy
	}
	return []event{e}
}

// same says whether two holds are one to people. The words in which a cluster does
// not answer change with every try.
func same(a, b migration.Hold) bool {
	if a.Reason == api.ReasonClusterUnreachable {
		a.Message, _, _ = strings.Cut(a.Message, ": ")
		b.Message, _, _ = strings.Cut(b.Message, ": ")
	}
	return a.Reason == b.Reason && a.Stalled == b.Stalled && a.Message == b.Message
}

func (n *narrator) completed(now time.Time, decision migration.Decision) event {
	text := map[string]string{
		api.ReasonMoved:      "moved: every ordinal that was asked for runs at the destination",
		api.ReasonRolledBack: "rolled back: every ordinal runs at the source",
		api.ReasonRecovered:  "recovered: every ordinal runs at the source, on the disk as it had left it",
	}[decision.Done]
	if text == "" {
		text = "completed: " + decision.Done
	}
	e := n.event(now, eventCompleted, text)
	e.Reason = decision.Done
	e.Summary = n.summary(now, decision.Done)
	return e
}

func (n *narrator) summary(now time.Time, outcome string) *summary {
	s := &summary{Outcome: outcome, TotalSeconds: rounded(now.Sub(n.start)), FewestAvailable: n.fewest, Replicas: n.replicas, Writes: n.writes}
	s.times(n.took)
	return s
}

// stopped is the event of a run that ends before its time.
func (n *narrator) stopped(now time.Time) event {
	text := fmt.Sprintf("stopped: %d of %d ordinals are moved", n.moved, n.total)
	if n.ordinal != nil {
		text += fmt.Sprintf("; ordinal %d is on its way, at %s", *n.ordinal, n.step)
		switch n.step { //nolint:exhaustive // in the other steps it runs
		case api.StepAwaitRelease, api.StepCarryVolumes, api.StepScaleUp:
			text += ", and stays down until the run goes on"
		case api.StepAwaitReadiness:
			text += ", and starts by itself"
		}
	}
	e := n.event(now, eventStopped, text).of(n.ordinal, n.step)
	e.Summary = n.summary(now, "")
	return e
}
