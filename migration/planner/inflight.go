package planner

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/util/intstr"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/plan"
)

// Several ordinals may be in flight (spec.handoff.maxInFlight). They are neighbors: the giver's next ones. A decision
// is about one of them, that of Record.Handoff, as if it moved alone. Of the others it needs only their number (I4, I5),
// and their order, so that both slices stay ranges: the giver stops the one next to the taker first, and the taker
// starts that one first. Foci lists the decisions of a pass; the first one that writes ends it.
//
// Each ordinal has its own claims, movers and attempts, so copies need no other order. But they may take days while the
// ordinals run. For that time an ordinal in flight takes nothing from the budget: see counted.

// MostInFlight returns how many ordinals may be in flight at once. asked is what the user asks for, as a number. If more
// than one was asked for and cannot be, why is the reason and most is 1.
func MostInFlight(s plan.Snapshot) (most, asked int32, why string) {
	replicas := s.Source.Set.Replicas
	if base := s.Record.Baseline; base != nil {
		replicas = base.Replicas
	}
	if asked = InFlightOf(s.Spec.MaxInFlight, replicas); asked == 1 {
		return 1, asked, ""
	}
	if why = onlyOne(s); why != "" || s.Destination.Lost {
		return 1, asked, why
	}
	most = asked
	if base := s.Record.Baseline; base != nil {
		most = max(1, min(most, base.Budget))
	}
	return most, asked, ""
}

// InFlightOf returns the number of ordinals for which a setting stands: a percentage is rounded down.
func InFlightOf(setting *intstr.IntOrString, replicas int32) int32 {
	if setting == nil {
		return 1
	}
	n, err := intstr.GetScaledValueFromIntOrPercent(setting, int(replicas), false)
	if err != nil {
		return 1
	}
	return int32(max(1, min(n, api.MostInFlight)))
}

// severalMove lists the methods by which several ordinals may move at once.
var severalMove = []api.VolumeMethod{api.MethodRebind, api.MethodCopy, api.MethodSnapshot}

// onlyOne returns why ordinals must move one at a time; empty: they need not.
func onlyOne(s plan.Snapshot) string {
	if s.Storage != nil {
		return "storage is changed in place one ordinal at a time, because its record holds one"
	}
	if s.Source.Set.Presence == plan.Seen && len(s.Source.Set.Templates) == 0 {
		return "without claims, another writer's start of one ordinal could leave the others of a block without a place"
	}
	for _, template := range s.Source.Set.Templates {
		asked := api.AskedOf(s.Spec.Volumes, template)
		if asked.Method == api.MethodCopy && asked.Copy.DowntimeLimit != nil {
			return fmt.Sprintf("copy.downtimeLimit of claim template %s takes back one ordinal alone, and those beyond it could then not be started at the destination", template)
		}
		if base := s.Record.Baseline; base != nil {
			asked = api.AskedOf(base.Volumes, template)
		}
		if asked.Method == api.MethodEmpty {
			return fmt.Sprintf("claim template %s starts empty and is filled by the other replicas: of several at once, the last replicas with a write could be emptied together", template)
		}
		if !slices.Contains(severalMove, asked.Method) {
			return fmt.Sprintf("claim template %s moves by method %s, for which only one ordinal at a time is tested", template, asked.Method)
		}
	}
	if gate := s.Spec.OrdinalGate; gate != "" {
		return fmt.Sprintf("gate %s asks between the arrival of one ordinal and the stop of the next", gate)
	}
	for _, hook := range s.Spec.Hooks {
		if hook.Point.OfOrdinal() {
			return fmt.Sprintf("hook %s runs at %s, and no hook of an ordinal runs while another ordinal is down", hook.Name, hook.Point)
		}
	}
	return ""
}

// inFlightFindings finds reasons why not as many ordinals can be in flight as the user asks for.
func inFlightFindings(s plan.Snapshot) []plan.Finding {
	_, asked, why := MostInFlight(s)
	object := "spec.handoff.maxInFlight of migration " + s.Migration.String()
	if asked == 1 {
		return nil
	}
	if why != "" {
		return []plan.Finding{{
			Reason: api.ReasonInFlightUnsupported, Object: object,
			Message: fmt.Sprintf("spec.handoff.maxInFlight asks for %d ordinals at once, and only one can move at a time: %s", asked, why),
			Remedy:  "remove spec.handoff.maxInFlight, or set it to 1",
		}}
	}
	d, finding := Allowance(s)
	if finding != nil || asked <= d {
		return nil // another check reports the finding
	}
	return []plan.Finding{{
		Reason: api.ReasonInFlightExceeds, Object: object,
		Message: fmt.Sprintf("spec.handoff.maxInFlight asks for %d ordinals at once, and the disruption budget is %d: each ordinal in flight counts as unavailable", asked, d),
		Remedy:  fmt.Sprintf("set spec.handoff.maxInFlight to %d or less, or raise the budget: the PodDisruptionBudget at the source, and spec.maxUnavailable if it is set", d),
	}}
}

// inFlight returns how many ordinals in flight beside the one that the decision is about count as unavailable.
func (p *View) inFlight() int32 { return int32(len(p.counted())) }

// counted returns the ordinals in flight beside the one in focus that count as unavailable: the gate and the budgets
// take all of them into account before the first one stops. If volumes are copied while their ordinals run, only those
// that have left the giver count.
func (p *View) counted() []api.Handoff {
	if !p.copiesAhead() {
		return p.Record.Further
	}
	return slices.DeleteFunc(slices.Clone(p.Record.Further), func(h api.Handoff) bool { return p.giver.Set.Has(h.Ordinal) })
}

// copiesAhead reports whether volumes are copied while their ordinals run.
func (p *View) copiesAhead() bool {
	base := p.Record.Baseline
	return base != nil && slices.ContainsFunc(base.Volumes, func(v api.VolumeSpec) bool { return v.Method == api.MethodCopy })
}

// downInFlight returns how many of the ordinals in flight have left the giver.
func (p *View) downInFlight() int32 {
	var count int32
	if h := p.Record.Handoff; h != nil && !p.giver.Set.Has(h.Ordinal) {
		count++
	}
	for i := range p.Record.Further {
		if !p.giver.Set.Has(p.Record.Further[i].Ordinal) {
			count++
		}
	}
	return count
}

// room reports whether the handoff of an ordinal may begin beside those in flight. All of them are within a block of the
// permitted size: an ordinal that is late holds those beyond it (I6). Each of them may owe a proof when it arrives, and
// the status lists a limited number of these.
func (p *View) room(k int32) bool {
	if !(proofPlanner{p}).provable(k) {
		return false
	}
	if len(p.Record.Further) == 0 {
		return true
	}
	most, _, _ := MostInFlight(p.Snapshot)
	for _, h := range p.Record.Further {
		if distance := max(k-h.Ordinal, h.Ordinal-k); distance >= most {
			return false
		}
	}
	return int32(len(p.Record.Further)) < most
}

// nearer reports whether ordinal a leaves the giver before ordinal b: it is nearer to the taker.
func (p *View) nearer(a, b int32) bool {
	if p.layout.lowest == (p.direction() == api.Back) {
		return a > b
	}
	return a < b
}

// stopsBefore returns an ordinal in flight that is stopped before ordinal k: it is nearer to the taker, and still runs at
// the giver. false: there is none.
func (p *View) stopsBefore(k int32) (int32, bool) {
	for _, h := range p.Record.Further {
		if p.nearer(h.Ordinal, k) && p.giver.Set.Has(h.Ordinal) {
			return h.Ordinal, true
		}
	}
	return 0, false
}

// inTurn waits until all ordinals that are nearer to the taker are stopped. A stop takes the ordinal at the end of the
// slice, so out of turn it would take another one. The wait has no deadline of its own: the neighbor's step has one.
func (p handoffPlanner) inTurn(k int32) *plan.Decision {
	first, waits := p.stopsBefore(k)
	if !waits {
		return p.stoppedByOthers(k)
	}
	step := api.StepReserveBudget
	if p.ahead.asked(k) {
		step = api.StepCopyAhead
	}
	return &plan.Decision{Step: step, Hold: &plan.Hold{
		Reason:  api.ReasonNeighborFirst,
		Message: fmt.Sprintf("ordinal %d waits until ordinal %d is stopped, which is next to it", k, first),
	}}
}

// stoppedByOthers waits for an ordinal in flight that another writer has stopped before its volumes were secured. If that
// writer takes the stop back, it runs again, unless the next one was stopped meanwhile.
func (p handoffPlanner) stoppedByOthers(k int32) *plan.Decision {
	for _, h := range p.Record.Further {
		if !p.nearer(h.Ordinal, k) || p.taker.Set.Has(h.Ordinal) {
			continue
		}
		s := p.Snapshot
		s.Record = plan.Focus{Ordinal: &h.Ordinal}.Of(s.Record)
		if problem := handoffOf(viewOf(s)).confirm(h.Ordinal); problem != nil && problem.Hold != nil && problem.Hold.Stalled {
			s.Behind = &h.Ordinal
			return p.held(api.StepGate, *viewOf(s).behind())
		}
	}
	return nil
}

// adjoins waits until the ordinal is next to the taker's slice: the slice must stay one range. A StatefulSet that starts
// its pods in order gets one ordinal at a time, because it would start no pod beyond one that is not Ready. The wait has no
// deadline of its own, as inTurn.
func (p handoffPlanner) adjoins(k int32) *plan.Decision {
	for _, h := range p.Record.Further {
		at, which := h.Ordinal, ""
		switch {
		case !p.giver.Set.Has(at) && !p.taker.Set.Has(at) && p.nearer(at, k):
			which = "is started"
		case p.taker.Set.Ordered && p.taker.Set.Has(at):
			which = "is available, because its pods start one after the other (podManagementPolicy OrderedReady)"
		default:
			continue
		}
		return &plan.Decision{Step: api.StepScaleUp, Hold: &plan.Hold{
			Reason:  api.ReasonNeighborFirst,
			Message: fmt.Sprintf("ordinal %d can be started, and waits until ordinal %d %s", k, at, which),
			Remedy:  fmt.Sprintf("see what ordinal %d waits for: %s", at, p.command("status")),
		}}
	}
	return nil
}

// lingering returns how many ordinals beside the one in focus have left a side's slice while their pods may still
// count there: a PodDisruptionBudget for the rest alone would allow that many evictions too many (I4). An ordinal whose
// handoff has turned may have left the taker.
func (p *View) lingering(name plan.SideName) int32 {
	side := p.Side(name)
	var count int32
	for _, h := range p.Record.Further {
		if side.Set.Has(h.Ordinal) {
			continue
		}
		was := name == p.giverName || h.Attempts > 1 && !p.giver.Set.Has(h.Ordinal)
		if _, there := side.Pod(h.Ordinal); there || was && !side.Set.Observed {
			count++
		}
	}
	return count
}

// recordAll begins the handoff of an ordinal, and those of the next ones as long as there is room and no gate holds. If
// not all volumes were read, it begins one.
func (p handoffPlanner) recordAll(k int32) *plan.Decision {
	decision := p.record(k, p.Record)
	next := *decision.Record
	for several := !p.Focused && p.severalMayMove(); several; {
		s := p.Snapshot
		s.Record = plan.Focus{Begins: true}.Of(next)
		v := viewOf(s)
		v.downs = p.downs
		beside := handoffOf(v)
		k, more := v.next()
		if !more || v.resting() || !v.room(k) || beside.gates.gate(k) != nil {
			break
		}
		begun := beside.record(k, s.Record).Record
		next.Further, next.Ahead = append(slices.Clone(next.Further), *begun.Handoff), begun.Ahead
	}
	decision.Record = &next
	return decision
}

// severalMayMove reports whether the user asks for more than one ordinal in flight, and the migration permits it.
func (p *View) severalMayMove() bool {
	most, _, _ := MostInFlight(p.Snapshot)
	return most > 1 && !p.takenBack()
}

// beside decides whether one more handoff begins beside those in flight. It never ends a migration.
func (p handoffPlanner) beside() *plan.Decision {
	k, more := p.next()
	if !more || p.resting() || !p.room(k) || !p.severalMayMove() {
		return done()
	}
	if p.hooks.early(k) != nil {
		return done() // it runs once none is in flight
	}
	if hold := p.gates.gate(k); hold != nil {
		return &plan.Decision{Hold: hold, Wait: max(0, hold.Until.Sub(p.Now))}
	}
	return p.recordAll(k)
}

// outside returns the first pod of an ordinal that a slice does not own. The pods of ordinals in flight are awaited by
// their own handoffs.
func (p *View) outside(side plan.Side) (plan.Pod, bool) {
	if len(p.Record.Further) == 0 {
		return side.Outside()
	}
	for _, pod := range side.Pods {
		if !side.Set.Has(pod.Ordinal) && !p.Record.Moves(pod.Ordinal) {
			return pod, true
		}
	}
	return plan.Pod{}, false
}

// outermost returns the ordinal in flight that moves to the destination last; false: none is in flight.
func (p *View) outermost() (int32, bool) {
	all := p.Record.InFlight()
	if len(all) == 0 {
		return 0, false
	}
	api.SortHandoffs(all, p.Spec.Order)
	return all[len(all)-1].Ordinal, true
}

// Foci returns what else a pass decides after a decision that only waits: the handoffs in flight beside the one that it
// was about, those nearer to the taker first, and then whether one more begins. After one that stalls, no ordinal beyond
// it is stopped (I6): those that are down are brought up, and the copies of those that still run are looked after.
func Foci(s plan.Snapshot, decision plan.Decision) []plan.Focus {
	none := s.Record.Idle() || len(s.Record.Further) == 0 && s.Spec.MaxInFlight == nil
	if none || s.Early != nil || s.Record.Baseline == nil {
		return nil
	}
	if s.Source.Reach != plan.Seen || s.Destination.Reach != plan.Seen {
		return nil
	}
	p, stalls := viewOf(s), decision.Hold != nil && decision.Hold.Stalled
	others := slices.Clone(s.Record.Further)
	slices.SortFunc(others, func(a, b api.Handoff) int {
		if p.nearer(a.Ordinal, b.Ordinal) {
			return -1
		}
		return 1
	})
	var foci []plan.Focus
	for _, h := range others {
		focus := plan.Focus{Ordinal: &h.Ordinal}
		if at := s.Record.Handoff; stalls && at != nil && p.giver.Set.Has(h.Ordinal) && p.nearer(at.Ordinal, h.Ordinal) {
			focus.Behind = &at.Ordinal
		}
		foci = append(foci, focus)
	}
	if !stalls && p.layout.broken == "" && p.begins() {
		foci = append(foci, plan.Focus{Begins: true})
	}
	return foci
}

// behind holds an ordinal beyond one that stalls (I6).
func (p *View) behind() *plan.Hold {
	if p.Behind == nil {
		return nil
	}
	return &plan.Hold{Reason: api.ReasonNeighborFirst, Message: fmt.Sprintf("waiting for ordinal %d, which stalls, and is stopped before this one", *p.Behind)}
}

// begins reports whether there is room for one more handoff beside all that are in flight.
func (p *View) begins() bool {
	s := p.Snapshot
	s.Record = plan.Focus{Begins: true}.Of(s.Record)
	v := viewOf(s)
	if !v.severalMayMove() || v.resting() || p.takenBack() {
		return false
	}
	k, more := v.next()
	return more && v.room(k)
}

// OnlyHolds reports whether a decision does nothing but wait.
func OnlyHolds(d plan.Decision) bool {
	return d.Record == nil && d.Effect == nil && d.Done == "" && d.Hold != nil
}

// Together returns the wait to report of two for which a pass only waits, with the earlier time.
func Together(first, other plan.Decision) plan.Decision {
	reported := first
	if explains(*other.Hold, *first.Hold) {
		reported = other
	}
	if reported.Wait = min(first.Wait, other.Wait); reported.Wait == 0 {
		reported.Wait = max(first.Wait, other.Wait)
	}
	return reported
}

// explains reports whether a hold tells a user more than another one: a stall does, and the wait of an ordinal itself,
// not for its neighbor.
func explains(hold, than plan.Hold) bool {
	if hold.Stalled != than.Stalled {
		return hold.Stalled
	}
	return than.Reason == api.ReasonNeighborFirst && hold.Reason != api.ReasonNeighborFirst
}
