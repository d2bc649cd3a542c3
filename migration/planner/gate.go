package planner

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/pdb"
	"github.com/sliceshift/sliceshift/volumes"
)

// Gate is one condition under which the next ordinal must wait. All gates are evaluated before an ordinal's
// handoff begins, and again until the ordinal is stopped; the first one that blocks is reported.
type Gate struct {
	// Name identifies the gate.
	Name string
	// Costs is true if the gate protects the availability of the application from a stop (I5). Such a gate is
	// skipped for an ordinal that moves back and is already down: its stop takes nothing more away. A rollback is
	// needed most when something is down (I8).
	Costs bool
	// Sides is true if the gate is about the other side of a move. A migration in place has none.
	Sides bool
	// Blocks returns why the ordinal must wait; nil: it need not. It is a pure function.
	Blocks func(v *View, ordinal int32) *plan.Hold
}

// healthBeforeStop is the name of the gate for the user's health gates before a stop.
const healthBeforeStop = "health before the stop"

// gates are evaluated in this order.
var gates = []Gate{
	{"budget", true, false, func(v *View, _ int32) *plan.Hold { return gatePlanner{v}.noneMayGo() }},
	{"replicas", true, false, func(v *View, k int32) *plan.Hold { return gatePlanner{v}.tooManyDown(k) }},
	{"pod template", true, true, func(v *View, _ int32) *plan.Hold { return gatePlanner{v}.outdated() }},
	{"volumes asked for", false, false, func(v *View, _ int32) *plan.Hold { return gatePlanner{v}.askedAnew() }},
	{"services asked for", false, true, func(v *View, _ int32) *plan.Hold { return gatePlanner{v}.renamed() }},
	{"budget asked for", true, false, func(v *View, _ int32) *plan.Hold { return gatePlanner{v}.lowered() }},
	{"roll-outs", true, false, func(v *View, _ int32) *plan.Hold { return cmp.Or(rollingOut(v.Source), rollingOut(v.Destination)) }},
	{"start ordinal", false, true, func(v *View, _ int32) *plan.Hold {
		if v.Numbers == nil {
			return nil
		}
		return v.Numbers.Hold()
	}},
	{"start withdrawn", false, true, func(v *View, _ int32) *plan.Hold { return gatePlanner{v}.withdrawn() }},
	{"stalled neighbor", false, false, func(v *View, _ int32) *plan.Hold { return v.behind() }},
	{"proofs", false, false, func(v *View, _ int32) *plan.Hold { return proofPlanner{v}.differs() }},
	{"slices", false, false, func(v *View, _ int32) *plan.Hold { return gatePlanner{v}.unsafe() }},
	{"volumes", false, true, func(v *View, k int32) *plan.Hold { return gatePlanner{v}.shared(k) }},
	{"arrival", true, false, func(v *View, k int32) *plan.Hold { return gatePlanner{v}.letIn(k) }},
	{"health after the start", true, false, func(v *View, _ int32) *plan.Hold { return healthPlanner{v}.afterStartHold() }},
	{healthBeforeStop, true, false, func(v *View, k int32) *plan.Hold { return healthPlanner{v}.beforeStopHold(k) }},
	{"load", true, false, func(v *View, k int32) *plan.Hold { return loadPlanner{v}.hold(k) }},
	// Last, because the results of the other gates, an automatic rollback above all, do not wait for a window.
	{"schedule", true, false, func(v *View, k int32) *plan.Hold { return schedulePlanner{v}.hold(k) }},
}

// RegisterGate adds a gate after all others. Call it at the start of a program: it panics for a gate without a
// name or a function, or with a name that is already registered.
func RegisterGate(gate Gate) {
	taken := slices.ContainsFunc(gates, func(other Gate) bool { return other.Name == gate.Name })
	if gate.Name == "" || gate.Blocks == nil || taken {
		panic(fmt.Sprintf("gate %q cannot be registered", gate.Name))
	}
	gates = append(gates, gate)
}

// gatePlanner evaluates the gates.
type gatePlanner struct{ *View }

// gate returns the reason that an ordinal must not be stopped now.
func (p gatePlanner) gate(k int32) *plan.Hold { return p.gateBut(k, "") }

// gateBut returns the reason that an ordinal must not be stopped now, without the gate of that name.
func (p gatePlanner) gateBut(k int32, but string) *plan.Hold {
	free := p.takesBackDown(k)
	for _, gate := range gates {
		if gate.Name == but || gate.Costs && free || gate.Sides && p.Storage != nil {
			continue
		}
		if hold := gate.Blocks(p.View, k); hold != nil {
			return hold
		}
	}
	return nil
}

// takesBackDown reports whether an ordinal that moves back is down at its giver. A pod that has not been Ready for
// minReadySeconds still serves.
func (p gatePlanner) takesBackDown(k int32) bool {
	if p.direction() != api.Back {
		return false
	}
	pod, found := p.giver.Pod(k)
	return !found || !pod.Ready || pod.Terminating
}

// noneMayGo holds while the author's PodDisruptionBudget allows no replica to be unavailable.
func (p gatePlanner) noneMayGo() *plan.Hold {
	base := p.Record.Baseline
	if base.Budget > 0 || base.DisruptionBudget == nil {
		return nil
	}
	side := p.Source
	if !p.Spec.SameNamespace && p.Source.Set.Replicas == 0 {
		side = p.Destination
	}
	name := base.DisruptionBudget.Name
	if len(side.Budgets) == 1 {
		name = side.Budgets[0].Name
	}
	return &plan.Hold{
		Reason:  api.ReasonBudgetZero,
		Message: fmt.Sprintf("%s allows 0 of %d replicas to be unavailable (%s): no ordinal can be stopped", side.BudgetNamed(name), base.Replicas, budgetPlanner(p).author()),
		Remedy:  "raise it when the move may go on: " + side.Kubectl().Do("patch", "pdb", "-n", side.Namespace, name, "--type=merge", "-p", `{"spec":{"minAvailable":null,"maxUnavailable":1}}`),
		Stalled: true,
	}
}

// tooManyDown holds while one more replica down would exceed the budget. The ordinal itself does not count: it is
// stopped, available or not.
func (p gatePlanner) tooManyDown(k int32) *plan.Hold {
	names := p.allUnavailable(&k)
	ordered := p.Source.Set.Ordered || p.Destination.Set.Ordered
	down := int32(len(names)) + p.inFlight()
	if down == 0 || (!ordered || len(names) == 0) && down < p.Record.Baseline.Budget {
		return nil
	}
	for _, h := range p.counted() {
		names = append(names, fmt.Sprintf("ordinal %d, which is in flight,", h.Ordinal))
	}
	return &plan.Hold{
		Reason:  api.ReasonReplicaUnavailable,
		Message: fmt.Sprintf("waiting until %s is available: another replica down would exceed the budget of %d", plan.Listed(names), p.Record.Baseline.Budget),
	}
}

// allUnavailable returns the names of the unavailable pods of both slices, except the pod of leaveOut and those of
// other ordinals in flight that count as unavailable anyway.
func (p *View) allUnavailable(leaveOut *int32) []string {
	return append(plan.PodNames(p.Source, p.without(p.down(plan.SourceSide)), leaveOut), plan.PodNames(p.Destination, p.without(p.down(plan.DestinationSide)), leaveOut)...)
}

// down returns the ordinals of a slice whose pods are not available.
func (p *View) down(name plan.SideName) []int32 {
	found, known := p.downs[name]
	if !known {
		found = plan.Down(p.Snapshot, *p.Side(name))
		if p.downs == nil {
			p.downs = map[plan.SideName][]int32{}
		}
		p.downs[name] = found
	}
	return found
}

// rollingOut holds while pods of a slice are replaced.
func rollingOut(s plan.Side) *plan.Hold {
	switch {
	case s.Set.Presence != plan.Seen || !s.Set.RollsOut():
		return nil
	case s.Set.RolledOut:
		return &plan.Hold{Reason: api.ReasonRolloutInProgress, Message: "waiting until the pods of " + s.Object() + " whose replacement was requested are replaced"}
	case s.Set.Rolls.AllAtOnce:
		return replacedTogether(s)
	case s.Set.Rolls.Stays != "":
		return StaysBehind(s).Hold()
	default:
		return &plan.Hold{Reason: api.ReasonRolloutInProgress, Message: "waiting until the roll-out of " + s.Object() + " is done"}
	}
}

// replacedTogether holds while a slice waits for the end of the migration to replace all of its pods at once,
// which exceeds any budget.
func replacedTogether(s plan.Side) *plan.Hold {
	return &plan.Hold{
		Reason: api.ReasonRolloutInProgress, Stalled: true,
		Message: s.Object() + " was changed during the move, and Recreate replaces all of its pods at once: this is not done while ordinals move",
		Remedy:  "revert the change, or replace the pods one by one: " + s.Kubectl().Do("patch", s.Set.ResourceName(), "-n", s.Namespace, s.Set.Name, "--type=merge", "-p", `{"spec":{"updateStrategy":{"type":"RollingUpdate","recreate":null}}}`),
	}
}

// unsafe holds while the state of the slices makes a stop unsafe.
func (p gatePlanner) unsafe() *plan.Hold {
	for _, side := range []*plan.Side{&p.Source, &p.Destination} {
		if finding := cmp.Or(CoversOthers(*side), LeavesOut(*side)); finding != nil {
			return finding.Hold()
		}
		if finding := DeletesClaims(*side); finding != nil && side == p.giver {
			return finding.Hold()
		}
		if hold := behind(*side); hold != nil {
			return hold
		}
		if pod, found := p.outside(*side); found {
			return &plan.Hold{Reason: api.ReasonPodTerminating, Message: fmt.Sprintf("waiting until pod %s/%s-%d in cluster %s, outside of its slice, is deleted%s", side.Namespace, side.Set.Name, pod.Ordinal, side.Cluster, keptBy(pod))}
		}
	}
	return nil
}

// behind holds while a controller has not observed the last change of its slice.
func behind(s plan.Side) *plan.Hold {
	if s.Set.Presence != plan.Seen || s.Set.Observed {
		return nil
	}
	return &plan.Hold{Reason: api.ReasonControllerBehind, Message: "waiting until the controller of " + s.Object() + " has observed its last change"}
}

// shared holds while something other than the ordinal's own pod uses its volumes, or the place for them on the
// other side. A stopped pod could then not start anywhere.
func (p gatePlanner) shared(k int32) *plan.Hold {
	for _, v := range p.Volumes {
		if v.Ordinal != k {
			continue
		}
		giver, taker := p.pair(v).Giver, p.pair(v).Taker
		if finding := cmp.Or(InUse(giver), AttachedElsewhere(*p.giver, k, giver)); finding != nil {
			return finding.Hold()
		}
		if hold := inUse(giver); hold != nil {
			return hold
		}
		for _, holding := range []volumes.Holding{giver, taker} {
			if going := holding.Going(); going != nil {
				return p.going(going)
			}
		}
		if problem, _ := v.Way().Check(p.pair(v), volumes.BeforeStop); problem != nil {
			return ofOrdinal(k, *problem)
		}
		if hold := inUse(taker); hold != nil && p.direction() != api.Back { // a rollback does not wait for a pod that uses none of its volumes (I8)
			return hold
		}
		if hold := anyAttached(taker); hold != nil && !v.Shared(p.Spec) { // in one cluster it is the giver's attachment
			return hold
		}
	}
	return nil
}

// outdated holds while the move would return an ordinal to an older pod template. The source's template was
// changed during the move, and the old version would read the data of the new one. A rollback does exactly that on
// request.
func (p gatePlanner) outdated() *plan.Hold {
	if p.Template.Fields == "" || p.direction() == api.Back {
		return nil
	}
	side := p.Destination
	return &plan.Hold{
		Reason: api.ReasonDestinationDiffers,
		Message: fmt.Sprintf("%s was changed during the move, and %s was not: they differ in %s, and the next ordinal would start with the old template",
			p.Source.Object(), side.Object(), p.Template.Fields),
		Remedy:  p.catchUp(),
		Stalled: true,
	}
}

// catchUp returns the remedy: apply the source's template change to the destination, one side after the other. A
// native controller replaces a pod without consulting a PodDisruptionBudget, so two simultaneous rollouts would
// take down one pod each.
func (p gatePlanner) catchUp() string {
	var steps []string
	from, to := p.Source, p.Destination
	if from.Set.RollsOut() {
		steps = append(steps, "first wait until the roll-out is done: "+from.RolloutStatus())
	}
	return strings.Join(append(steps,
		"make the same change: "+to.Kubectl().Do("edit", to.Set.ResourceName(), "-n", to.Namespace, to.Set.Name),
		"and wait until it is rolled out there: "+to.RolloutStatus(),
		"when it has the change in another form: "+to.Kubectl().Do("annotate", to.Set.ResourceName(), "-n", to.Namespace, to.Set.Name, "--overwrite", fmt.Sprintf("%s=%s", api.TemplateAnnotationKey, p.Template.Hash)),
	), "; ")
}

// askedAnew holds while the spec requests another way for the volumes than the recorded one: the next ordinal
// would move differently than its user expects. Ordinals in flight, and all ordinals of a rollback, use the
// accepted way.
func (p gatePlanner) askedAnew() *plan.Hold {
	if p.direction() == api.Back {
		return nil
	}
	if hold := p.unrecorded(); hold != nil {
		return hold
	}
	var changed, back []string
	for _, was := range p.Record.Baseline.Volumes {
		now := api.AskedOf(p.Spec.Volumes, was.ClaimTemplate)
		if now.SameWay(was) {
			continue
		}
		changed = append(changed, fmt.Sprintf("claim template %s moves by %s, but the spec has %s", was.ClaimTemplate, way(was), way(now)))
		back = append(back, fmt.Sprintf("for claim template %s restore %s", was.ClaimTemplate, way(was)))
	}
	if len(changed) == 0 {
		return nil
	}
	return &plan.Hold{
		Reason:  api.ReasonVolumesChanged,
		Message: "spec.volumes was changed during the move: " + strings.Join(changed, "; ") + "; the data of moved ordinals are where the former setting placed them",
		Remedy: fmt.Sprintf("in spec.volumes, or by --volume, --storage-class and --access-modes, %s; to change the setting, first roll back: %s, then change it and run again",
			strings.Join(back, ", "), p.command("rollback")),
		Stalled: true,
	}
}

// unrecorded holds while the record lacks the way in which the volumes of a claim template move. The current spec
// could request another way than that of the moved ordinals.
func (p gatePlanner) unrecorded() *plan.Hold {
	var lost []string
	for _, template := range p.Source.Set.Templates {
		if !slices.ContainsFunc(p.Record.Baseline.Volumes, func(v api.VolumeSpec) bool { return v.ClaimTemplate == template }) {
			lost = append(lost, template)
		}
	}
	if len(lost) == 0 {
		return nil
	}
	return &plan.Hold{
		Reason: api.ReasonVolumesChanged,
		Message: fmt.Sprintf("status.baseline.volumes lacks claim template %s: it was edited, or the CRD is of an older version; an ordinal would move by the present spec.volumes",
			strings.Join(lost, ", ")),
		Remedy: fmt.Sprintf("install the CRDs of this version: %s; then roll back: %s, and run again",
			plan.Kubectl("", p.Source.Flags).Migrate("install", "--crds-only"), p.command("rollback")),
		Stalled: true,
	}
}

// way describes how the volumes of a claim template move, for people.
func way(v api.VolumeSpec) string {
	text := fmt.Sprintf("method %s with the source's storage class", v.Method)
	if v.StorageClassName != nil {
		text = fmt.Sprintf("method %s with storage class %q", v.Method, *v.StorageClassName)
	}
	if len(v.AccessModes) > 0 {
		text += " and access modes " + api.Modes(v.AccessModes)
	}
	return text
}

// renamed holds while the spec requests other services than those that the move creates. Otherwise only some of
// the moved ordinals would get a name, and existing objects would be left behind. Ordinals in flight, and all
// ordinals of a rollback, use the record.
func (p gatePlanner) renamed() *plan.Hold {
	was, now := p.Services(), p.Spec.Services()
	if was == now || p.direction() == api.Back {
		return nil
	}
	var changed []string
	if was.PerOrdinal != now.PerOrdinal {
		changed = append(changed, fmt.Sprintf("perOrdinal is %s, and was %s", now.PerOrdinal, was.PerOrdinal))
	}
	if was.Export != now.Export {
		changed = append(changed, fmt.Sprintf("export is %t, and was %t", now.Export, was.Export))
	}
	return &plan.Hold{
		Reason: api.ReasonServicesChanged, Stalled: true,
		Message: "spec.services was changed during the move: " + strings.Join(changed, "; ") + "; moved ordinals would have other names than the next ones, and their existing Services would be left behind",
		Remedy:  fmt.Sprintf(`restore it: %s, or run again with --export-services=%t --export-ordinals=%t; to change the setting, first roll back: %s, then change it and run again`, plan.Kubectl("", p.Source.Flags).Do("patch", "migration", "-n", p.Migration.Namespace, p.Migration.Name, "--type=merge", "-p", fmt.Sprintf(`{"spec":{"services":{"export":%t,"perOrdinal":%q}}}`, was.Export, was.PerOrdinal)), was.Export, was.NamesOrdinals(), p.command("rollback")),
	}
}

// lowered holds while spec.maxUnavailable allows less than the budget with which the migration was accepted, and
// which it has split (I4, I5). So no replica is stopped that the user no longer wants to be down. It does not hold
// a rollback (I8), and a larger value changes nothing.
func (p gatePlanner) lowered() *plan.Hold {
	base, asked := p.Record.Baseline, p.Spec.MaxUnavailable
	if asked == nil || p.direction() == api.Back {
		return nil
	}
	allowed, err := pdb.Budget(pdb.Form{MaxUnavailable: asked}, base.Replicas)
	if err == nil && allowed >= base.Budget {
		return nil
	}
	return &plan.Hold{
		Reason: api.ReasonBudgetLowered, Stalled: true,
		Message: fmt.Sprintf("spec.maxUnavailable was changed to %s during the move, but the migration was accepted with a budget of %d of %d replicas, which its PodDisruptionBudgets share: the next stop could take down too many replicas",
			asked.String(), base.Budget, base.Replicas),
		Remedy: fmt.Sprintf("set spec.maxUnavailable: %d again; to move with a smaller budget, first roll back: %s, then run again",
			base.Budget, p.command("rollback")),
	}
}
