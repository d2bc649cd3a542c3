package planner

import (
	"fmt"
	"math"
	"slices"
	"time"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/berths"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/migration/schedule"
)

// FirstHandoff is the estimate of a handoff's duration without minReadySeconds, before any was measured. Later it
// is the lower bound of the estimate.
const FirstHandoff = time.Minute

// usualGrace is the default grace period of pods, which FirstHandoff includes.
const usualGrace = 30 * time.Second

// schedulePlanner holds a handoff that would not begin and end within a window. An ordinal that is down is started
// whatever the schedule, and a rollback never waits, since it ends a problem.
type schedulePlanner struct{ *View }

// Timing is the schedule's answer for the next handoff.
type Timing struct {
	schedule.Answer
	// Needs is the expected duration of the handoff. Left is how many ordinals must still be stopped.
	Needs time.Duration
	Left  int32
}

// TimingOf returns the schedule's answer for the next handoff; asked is false if the schedule does not apply.
func TimingOf(s plan.Snapshot) (timing Timing, asked bool) {
	p := schedulePlanner{viewOf(s)}
	if !p.asked() || p.resting() || p.Record.Completed != "" {
		return timing, false
	}
	if timing.Left = p.left(); timing.Left == 0 {
		return timing, false
	}
	timing.Needs = p.needs()
	timing.Answer = p.Spec.Schedule.At(p.Now, timing.Needs)
	return timing, true
}

func (p schedulePlanner) asked() bool { return p.Spec.Schedule != nil && p.direction() == api.Forward }

// left returns how many ordinals must still be stopped.
func (p schedulePlanner) left() int32 {
	if p.Record.Baseline == nil {
		return plan.Total(p.Spec, p.Source.Set.Replicas)
	}
	if p.layout.broken != "" {
		return 0
	}
	return max(0, p.layout.target-p.layout.moved)
}

// needs returns the expected duration of a handoff: the user's value, or the longest measured one.
func (p schedulePlanner) needs() time.Duration {
	if said := p.Spec.Schedule.Expected(); said > 0 {
		return said
	}
	least := FirstHandoff + max(p.Spec.MinReady, p.Source.Set.MinReady, p.Destination.Set.MinReady) + max(0, p.Source.Set.Grace-usualGrace)
	if p.Record.Pace == nil {
		return least
	}
	return max(least, time.Duration(p.Record.Pace.LongestSeconds)*time.Second)
}

// paceWith returns the longest measured duration of a handoff, including one that has just ended. A rollback is
// not measured, because the schedule does not hold it.
func (p *View) paceWith(arrived api.Handoff) *api.Pace {
	began := arrived.StartTime.Time
	for _, v := range arrived.Volumes {
		if ended := v.Copy.Warm.Ended.Time; ended.After(began) {
			began = ended // before that the ordinal ran while it was copied
		}
	}
	took := int32(min(math.MaxInt32, math.Ceil(p.Now.Sub(began).Seconds())))
	if p.direction() == api.Back || arrived.StartTime.IsZero() || took <= 0 {
		return p.Record.Pace
	}
	if p.Record.Pace != nil && p.Record.Pace.LongestSeconds >= took {
		return p.Record.Pace
	}
	return &api.Pace{LongestSeconds: took}
}

// hold returns the reason that an ordinal's handoff may not begin now.
func (p schedulePlanner) hold(k int32) *plan.Hold {
	if !p.asked() {
		return nil
	}
	windows, needs := p.Spec.Schedule, p.needs()
	answer := windows.At(p.Now, needs)
	if finding := p.finding(answer, needs); finding != nil {
		return finding.Hold()
	}
	next := "the next one opens at " + windows.Text(answer.Slot.Opens)
	if !answer.Slot.Closes.IsZero() {
		next += fmt.Sprintf(", for %s", answer.Slot.Closes.Sub(answer.Slot.Opens))
	}
	switch answer.Verdict {
	case schedule.Open:
		return nil
	case schedule.Short:
		return &plan.Hold{
			Reason: api.ReasonOutsideWindow, Until: answer.Slot.Opens,
			Message: fmt.Sprintf("waiting for the next window: a handoff of ordinal %d would take %s and not be over when this one closes at %s; %s", k, needs, windows.Text(answer.Now.Closes), next),
		}
	default:
		return &plan.Hold{
			Reason: api.ReasonOutsideWindow, Until: answer.Slot.Opens,
			Message: fmt.Sprintf("waiting for a window: no handoff of ordinal %d begins outside of one; %s", k, next),
		}
	}
}

// scheduleFindings returns the reasons that a schedule allows no move at all.
func scheduleFindings(s plan.Snapshot) []plan.Finding {
	p := schedulePlanner{viewOf(s)}
	if !p.asked() {
		return nil
	}
	needs := p.needs()
	if finding := p.finding(p.Spec.Schedule.At(p.Now, needs), needs); finding != nil {
		return []plan.Finding{*finding}
	}
	return nil
}

// finding returns the reason that no handoff can ever begin; nil: one can.
func (p schedulePlanner) finding(answer schedule.Answer, needs time.Duration) *plan.Finding {
	windows, object := p.Spec.Schedule, "spec.schedule of migration "+p.Migration.String()
	back := ""
	if p.Record.Baseline != nil {
		back = "; to roll back the moved ordinals: " + p.command("rollback")
	}
	switch {
	case windows.Problem() != "":
		return &plan.Finding{
			Reason: api.ReasonScheduleInvalid, Object: object,
			Message: "spec.schedule is invalid, so no handoff begins: " + windows.Problem(),
			Remedy:  "correct it, or remove it from the spec to move at any time" + back,
		}
	case answer.Verdict == schedule.Never:
		return &plan.Finding{
			Reason: api.ReasonScheduleNeverOpens, Object: object,
			Message: fmt.Sprintf("after %s no window of spec.schedule opens any more: the next ordinal would never be moved", windows.Text(p.Now)),
			Remedy:  "set a later notAfter, or other windows" + back,
		}
	case answer.Verdict == schedule.TooShort:
		length := answer.Slot.Closes.Sub(answer.Slot.Opens)
		return &plan.Finding{
			Reason: api.ReasonWindowTooShort, Object: object,
			Message: fmt.Sprintf("no window of spec.schedule is long enough: the longest, at %s, lasts %s, and a handoff takes %s by %s", windows.Text(answer.Slot.Opens), length, needs, p.source()),
			Remedy:  "make the windows longer, or say with spec.schedule.expectedHandoffSeconds how long a handoff takes" + back,
		}
	default:
		return nil
	}
}

// source names the source of the expected duration.
func (p schedulePlanner) source() string {
	switch {
	case p.Spec.Schedule.Expected() > 0:
		return "expectedHandoffSeconds"
	case p.Record.Pace != nil:
		return "the longest one so far"
	default:
		return "the default for the first one"
	}
}

// loadPlanner holds a handoff while others use the capacity that it needs. A rollback never waits for it.
type loadPlanner struct{ *View }

// loadOf returns the load of an ordinal's handoff.
func (p loadPlanner) loadOf(k int32) *api.HandoffLoad {
	load := &api.HandoffLoad{Cluster: p.giver.ClusterID}
	if pod, found := p.giver.Pod(k); found {
		load.Node = pod.Node
	}
	for _, v := range p.Volumes {
		if class := p.pair(v).Giver.Volume.Class; v.Ordinal == k && class != "" {
			load.StorageClasses = append(load.StorageClasses, class)
		}
	}
	slices.Sort(load.StorageClasses)
	load.StorageClasses = slices.Compact(load.StorageClasses)
	return load
}

func (p loadPlanner) hold(k int32) *plan.Hold {
	if p.Load == nil || p.direction() == api.Back {
		return nil
	}
	berth, begun := berths.Of(p.Migration, p.Record.Baseline, &api.Handoff{Ordinal: k, Load: p.loadOf(k)})
	if !begun {
		return nil
	}
	load := *p.Load
	load.Others = slices.Clone(load.Others)
	for i := range p.Record.Further {
		if own, begun := berths.Of(p.Migration, p.Record.Baseline, &p.Record.Further[i]); begun {
			load.Others = append(load.Others, own)
		}
	}
	full := load.Full(berth)
	if full == nil {
		return nil
	}
	return &plan.Hold{
		Reason:  api.ReasonTooManyHandoffs,
		Message: fmt.Sprintf("ordinal %d waits for %s of cluster %s: handoffs of other migrations are under way, at most %d at once (%s): %s", k, full.What, p.giver.Cluster, full.Most, full.Setting, plan.Listed(full.By)),
	}
}
