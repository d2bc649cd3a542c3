// Package progress shows the progress of a run. It derives events from the passes of the engine, and writes them as
// lines, as JSON, or above a bar on a terminal.
package progress

import (
	"fmt"
	"strings"
	"time"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/cmd/migrate/move/preview"
	"github.com/sliceshift/sliceshift/internal/records"
	"github.com/sliceshift/sliceshift/migration/engine"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/migration/report"
	"github.com/sliceshift/sliceshift/migration/view"
)

// Tracker derives events from the passes of an engine. It reports each fact once, when it happens.
type Tracker struct {
	State
	// began is when this process began.
	began time.Time
	// seen is the ordinal in flight in the last pass. fresh is true if its handoff began in this process.
	seen  *int32
	fresh bool
	mode  api.Mode
	// reported is the last reported hold.
	reported *plan.Hold
	handoffs []time.Duration
	// seals holds the reported seals of the ordinal in flight, by claim template.
	seals map[string]string
	// heldAhead is the last reported stall of copies for later turns.
	heldAhead view.Stall
	// fewestAvailable is the minimum of observed available replicas; -1 if there is none yet.
	fewestAvailable int32
	writes          int
}

// NewTracker returns a tracker that begins with the recorded state of an earlier run, if any.
func NewTracker(now time.Time, m *api.Migration) *Tracker {
	t := &Tracker{State: Recorded(m, true, now), began: now, mode: m.Spec.Mode, fewestAvailable: -1}
	t.Hold = nil // until a pass has found it
	if t.Began.IsZero() {
		t.Began = now // of this process
	}
	if t.Handoff != nil {
		t.seen = new(t.Handoff.Ordinal)
	}
	t.sealed(now, m)
	return t
}

// Expect sets how many ordinals move, and of how many replicas, before the first pass.
func (t *Tracker) Expect(total, replicas int32) { t.Total, t.Replicas = total, replicas }

// Event returns an event with the fields that all events have.
func (t *Tracker) Event(now time.Time, kind Kind, message string) Event {
	elapsed := now.Sub(t.began)
	return Event{Time: now.UTC(), ElapsedSeconds: view.Exact(elapsed), elapsed: elapsed, Kind: kind, Message: message, Moved: t.Moved, Total: t.Total}
}

// of sets the ordinal and step of an event.
func (e Event) of(ordinal *int32, step api.Step) Event {
	e.Ordinal, e.Step = ordinal, step
	return e
}

// Observe returns the events of a pass.
func (t *Tracker) Observe(now time.Time, m *api.Migration, outcome engine.Outcome) []Event {
	var events []Event
	if mode := m.Spec.Mode; mode != t.mode && mode != "" {
		t.mode = mode
		events = append(events, t.Event(now, ModeChanged, t.Words().ModeText(mode)))
	}
	if outcome.Wrote {
		events = append(events, t.written(now, outcome))
	}
	t.measure(m, outcome)
	t.clients = outcome.Clients
	if done := outcome.Finished; done != nil {
		events = append(events, t.ordinalDone(now, m, done))
	}
	t.follow(m, outcome.Decision)
	events = append(events, t.sealed(now, m)...)
	events = append(events, t.ahead(now, m)...)
	events = append(events, t.holdEvents(now, m, outcome)...)
	if outcome.Done {
		events = append(events, t.completed(now, outcome.Decision))
	}
	return events
}

// ahead returns an event if a cluster refuses copies for later turns and this was not reported yet.
func (t *Tracker) ahead(now time.Time, m *api.Migration) []Event {
	held := view.AheadOf(m)
	switch {
	case held == nil:
		t.heldAhead = view.Stall{}
		return nil
	case *held == t.heldAhead:
		return nil
	}
	t.heldAhead = *held
	e := t.Event(now, Waiting, held.Message)
	e.Reason, e.Remedy = held.Reason, held.Remedy
	return []Event{e}
}

// sealed returns events for volumes that have been copied since the last pass, with both sides equal.
func (t *Tracker) sealed(now time.Time, m *api.Migration) (events []Event) {
	seals := map[string]string{}
	if h := m.Status.Handoff; h != nil {
		for _, v := range h.Volumes {
			seal := v.Copy.Seal
			if seal.Root == "" {
				continue
			}
			if seals[v.ClaimTemplate] = seal.Root; t.seals[v.ClaimTemplate] == seal.Root {
				continue
			}
			text := fmt.Sprintf("%s was copied, %s in %s, and %s: %s", v.ClaimTemplate, view.Size(seal.Bytes), view.Count(int(seal.Files), "file"), equal(seal), short(seal.Root))
			e := t.Event(now, Sealed, text).of(t.inFlight())
			e.Seal = &Seal{ClaimTemplate: v.ClaimTemplate, Root: seal.Root, Bytes: seal.Bytes, Files: seal.Files, Seconds: seal.Seconds, Verify: string(seal.Verify), Read: seal.Read, Trusted: seal.Trusted}
			events = append(events, e)
		}
	}
	t.seals = seals
	return events
}

// equal returns how the equality of the two sides was proven.
func equal(seal api.CopySeal) string {
	switch seal.Verify {
	case api.CopyVerifyChanged:
	case api.CopyVerifyLater:
		return fmt.Sprintf("the copy was read back by verify: Later (%s of it after the stop); the volume that the ordinal leaves is read whole after the start", view.Size(seal.Read))
	default:
		return "both sides are equal"
	}
	return fmt.Sprintf("both sides are equal by verify: Changed (%s were read again on the two sides; %s were not, because they have not changed since a warm pass read them)", view.Size(seal.Read), view.Size(seal.Trusted))
}

// short returns the part of a root that people compare.
func short(root string) string {
	const most = len("blake3:") + 8
	return root[:min(most, len(root))]
}

// written returns the event of a write.
func (t *Tracker) written(now time.Time, outcome engine.Outcome) Event {
	t.writes++
	effect := *outcome.Decision.Effect
	e := t.Event(now, Written, effect.String())
	e.Ordinal, _ = t.inFlight()
	e.Step = outcome.Decision.Step
	e.Side, e.Verb, e.Object, e.short = effect.Side, effect.Verb, effect.Object(), preview.Brief(e.Message, effect.PersistentVolume(), preview.TemplateOf(outcome.Snapshot, effect))
	if effect.OfOrdinal() {
		e.Ordinal = &effect.Ordinal
	}
	return e
}

// ordinalDone returns the event of a finished handoff.
func (t *Tracker) ordinalDone(now time.Time, m *api.Migration, done *api.Handoff) Event {
	past := noted(m, done)
	took := max(0, now.Sub(done.StartTime.Time))
	if !past.EndTime.IsZero() {
		took = max(0, past.EndTime.Sub(past.StartTime.Time))
	}
	if t.fresh && !past.Stayed {
		t.handoffs = append(t.handoffs, took)
	}
	text := view.Duration(took)
	down, soak := downOf(past)
	switch {
	case down != nil && past.StopTime.Before(&past.StartTime): // in a handoff that was turned back
		text += fmt.Sprintf(", down for %s in all", view.Duration(*down))
	case down != nil:
		text += fmt.Sprintf(", %s of it down", view.Duration(*down))
	}
	if soak != nil && *soak >= time.Second {
		text += ", then Ready for " + view.Duration(*soak)
	}
	if past.Clients != nil {
		text += ", " + report.FailedText(*past.Clients)
	}
	switch {
	case past.Stayed:
		text = fmt.Sprintf("ordinal %d is available where it was: it had not been stopped (%s)", done.Ordinal, t.left())
	default:
		text = fmt.Sprintf("ordinal %d is available %s after %s (%s)", done.Ordinal, t.where(m), text, t.left())
	}
	e := t.Event(now, OrdinalDone, text).of(&done.Ordinal, "")
	e.Seconds, e.Stayed, e.Clients = new(view.Exact(took)), past.Stayed, past.Clients
	if down != nil {
		e.DownSeconds = new(view.Exact(*down))
	}
	if soak != nil {
		e.SoakSeconds = new(view.Exact(*soak))
	}
	return e
}

// where returns where an ordinal runs whose handoff has just ended.
func (t *Tracker) where(m *api.Migration) string {
	words := t.Words()
	switch storage := m.Status.Storage; {
	case storage != nil && storage.Back != "":
		return words.Stayed
	case t.Back:
		return words.Returned
	}
	return words.Arrived
}

// downOf returns how long the ordinal of a handoff was down, and how long it was Ready before it counted as available.
// Each is nil if it is unknown or if the ordinal was not stopped.
func downOf(past api.PastHandoff) (outage, soak *time.Duration) {
	down := view.DownIn(past)
	if down == nil {
		return nil, nil
	}
	if down.Ready != nil {
		soak = new(down.Soak(past.EndTime.Time))
	}
	return new(down.Outage(past.EndTime.Time)), soak
}

// left returns the progress of the move, or in a rollback how many ordinals are left.
func (t *Tracker) left() string {
	if t.Back {
		return fmt.Sprintf("%d left", t.Moved)
	}
	return fmt.Sprintf("%d/%d", t.Moved, t.Total)
}

// noted returns the history entry of a handoff that has just ended, or the zero value.
func noted(m *api.Migration, done *api.Handoff) api.PastHandoff {
	if h := m.Status.History; h != nil && len(h.Handoffs) > 0 {
		if last := h.Handoffs[len(h.Handoffs)-1]; last.Ordinal == done.Ordinal && last.Outcome == "" {
			return last
		}
	}
	return api.PastHandoff{}
}

// holdEvents returns the event of a wait or stall, if it is new.
func (t *Tracker) holdEvents(now time.Time, m *api.Migration, outcome engine.Outcome) []Event {
	hold := outcome.Decision.Hold
	switch {
	case hold == nil && !outcome.Wrote && !outcome.Saved, hold != nil && hold.Reason == api.ReasonMoving:
		return nil // nothing was observed, or it has changed since
	case hold == nil:
		stalled := t.reported != nil && t.reported.Stalled
		t.reported, t.Hold = nil, nil
		if stalled && outcome.Finished == nil {
			return []Event{t.Event(now, Resumed, "it continues: nothing stalls it any more").of(t.inFlight())}
		}
		return nil
	}
	return t.Held(now, *hold, m.Status.Handoff)
}

// Held returns the event of a hold, unless it was already reported.
func (t *Tracker) Held(now time.Time, hold plan.Hold, handoff *api.Handoff) []Event {
	since := now
	if t.Hold != nil && t.Hold.Reason == hold.Reason {
		since = t.Hold.Since
	}
	known := t.reported != nil && same(*t.reported, hold)
	t.reported = &hold
	t.Hold = &view.Hold{Reason: hold.Reason, Message: hold.Message, Remedy: hold.Remedy, Stalled: hold.Stalled, Since: since}
	if known {
		return nil
	}
	kind := Waiting
	if hold.Stalled {
		kind = Stalled
	}
	e := t.Event(now, kind, hold.Message)
	if handoff != nil {
		e = e.of(t.inFlight())
	}
	e.Reason = hold.Reason
	if hold.Stalled {
		e.Remedy = hold.Remedy
	}
	return []Event{e}
}

// same reports whether two holds are the same to a user. The error text of an unreachable cluster differs with every
// attempt, so it is ignored.
func same(a, b plan.Hold) bool {
	if a.Reason == api.ReasonClusterUnreachable {
		a.Message, _, _ = strings.Cut(a.Message, ": ")
		b.Message, _, _ = strings.Cut(b.Message, ": ")
	}
	return a.Reason == b.Reason && a.Stalled == b.Stalled && a.Message == b.Message
}

func (t *Tracker) completed(now time.Time, decision plan.Decision) Event {
	text := t.Words().EndText(decision.Done)
	if decision.Done == api.ReasonRecovered {
		text += ", on the disk that it had left"
	}
	e := t.Event(now, Completed, text)
	e.Reason, e.reverse = decision.Done, t.Words().Reverse
	e.Summary = t.summary(now, decision.Done)
	return e
}

func (t *Tracker) summary(now time.Time, outcome string) *Summary {
	s := &Summary{Outcome: outcome, TotalSeconds: view.Exact(now.Sub(t.began)), FewestAvailable: t.fewestAvailable, Replicas: t.Replicas, Writes: t.writes, Clients: withoutCounts(t.clients)}
	s.times(t.handoffs)
	return s
}

// withoutCounts returns the probe status without the fields that only the next process needs.
func withoutCounts(p *api.ProbeStatus) *api.ProbeStatus {
	if p == nil {
		return nil
	}
	figures := *p
	figures.Latencies, figures.Moving = nil, nil
	return &figures
}

// Stopped returns the event of a run that ends early.
func (t *Tracker) Stopped(now time.Time) Event {
	text := fmt.Sprintf("stopped: %d of %d ordinals are %s", t.Moved, t.Total, t.Words().Did)
	if h := t.Handoff; h != nil {
		text += fmt.Sprintf("; ordinal %d is in flight", h.Ordinal)
		if step := view.StepText(h.Step); step != "" {
			text += " (" + step + ")"
		}
		switch {
		case h.Down != nil && h.Down.Ready != nil, !records.StoppedAt(h.Step): // it runs
		case h.Step == api.StepAwaitReadiness:
			text += ", and starts without the run"
		default:
			text += ", and stays down until the run continues"
		}
	}
	e := t.Event(now, Stopped, text).of(t.inFlight())
	e.Summary = t.summary(now, "")
	return e
}
