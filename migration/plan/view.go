package plan

import (
	"cmp"
	"fmt"
	"time"

	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/volumes"
)

// View is a snapshot together with what follows from it at once. It decides nothing.
type View struct {
	Snapshot
	// layout is the position; valid only when a baseline is recorded.
	layout layout
	// giver and taker follow the direction.
	giver, taker *Side
	giverName    SideName
	takerName    SideName
	// downs are what down has found.
	downs map[SideName][]int32
}

func viewOf(s Snapshot) *View {
	p := &View{Snapshot: s}
	if p.direction() == api.Forward {
		p.giver, p.taker, p.giverName, p.takerName = &p.Source, &p.Destination, SourceSide, DestinationSide
	} else {
		p.giver, p.taker, p.giverName, p.takerName = &p.Destination, &p.Source, DestinationSide, SourceSide
	}
	if s.Record.Baseline != nil {
		p.layout = layoutOf(s)
	}
	return p
}

// stopped says whether an ordinal is down on its way: it is brought up before
// anything that may have to wait for somebody else.
func (p *View) stopped() bool {
	return p.Record.Handoff != nil && !p.giver.Set.Has(p.Record.Handoff.Ordinal)
}

// fence is the fence of the present epoch. It is on everything that is written in
// this epoch: both StatefulSets, the PodDisruptionBudgets and the volumes. What
// still has an older one is written again before anything is built upon it, so that
// the late write of an older epoch is refused.
func (p *View) fence() string { return Fence(p.UID, p.Record.Fence.Epoch) }

// command is what a person types about this migration.
func (p *View) command(verb string) string {
	return fmt.Sprintf("kubectl migrate %s %s -n %s", verb, p.Migration.Name, p.Migration.Namespace)
}

// at names the step of a decision, and gives a wait its deadline.
func (p *View) at(step api.Step, decision *Decision) *Decision {
	if decision.Hold == nil || decision.Hold.Stalled {
		decision.Step = step
		return decision
	}
	sooner := decision.Wait
	decision = p.held(step, *decision.Hold)
	if sooner > 0 {
		decision.Wait = min(sooner, cmp.Or(decision.Wait, sooner))
	}
	return decision
}

// held is a wait in a step. It stalls when the step has taken too long (I6).
func (p *View) held(step api.Step, hold Hold) *Decision {
	decision := &Decision{Hold: &hold, Step: step, Wait: max(0, hold.Until.Sub(p.Now))}
	if p.Record.Handoff == nil {
		return decision
	}
	if left := p.Spec.Deadline - p.spent(step); left > 0 {
		decision.Wait = min(left, cmp.Or(decision.Wait, left))
		return decision
	}
	hold.Stalled = true
	hold.Message = fmt.Sprintf("ordinal %d has been at %s for longer than %s: %s", p.Record.Handoff.Ordinal, step, p.Spec.Deadline, hold.Message)
	return decision
}

// spent is how long the ordinal has been at a step, as far as it is recorded.
func (p *View) spent(step api.Step) time.Duration {
	handoff := p.Record.Handoff
	if handoff.Step != step || handoff.StepTime.IsZero() {
		return 0
	}
	return p.Now.Sub(handoff.StepTime.Time)
}

// volumesOf returns the claims of an ordinal, one for each claim template. It holds
// when one was not looked at: an ordinal must never start without its volume.
func (p *View) volumesOf(ordinal int32) ([]OrdinalVolume, *Hold) {
	var found []OrdinalVolume
	for _, v := range p.Volumes {
		if v.Ordinal == ordinal {
			found = append(found, v)
		}
	}
	templates := p.Source.Set.Templates
	if p.Source.Set.Presence != Seen || len(found) != len(templates) {
		return found, &Hold{Reason: api.ReasonVolumeUnbound, Message: fmt.Sprintf("the claims of ordinal %d were not all read: %d of %d", ordinal, len(found), len(templates))}
	}
	for i, v := range found {
		if v.Template != templates[i] {
			return found, &Hold{Reason: api.ReasonVolumeUnbound, Message: fmt.Sprintf("claim template %s of ordinal %d was not read", templates[i], ordinal)}
		}
	}
	return found, nil
}

func (p *View) pair(v OrdinalVolume) volumes.Pair {
	pair := volumes.Pair{Shared: v.shared(p.Spec), Separate: v.Separate(), Fence: p.fence(), Owner: p.UID, Giver: v.Source, Taker: v.Destination, Template: v.Template, Word: v.Word}
	if p.Destination.Lost {
		pair.Word.ReturnsToKept = true // who recovers has said that ordinals come back to what they have left
	}
	if p.giverName == DestinationSide {
		pair.Giver, pair.Taker = v.Destination, v.Source
	}
	return pair
}

// next returns the ordinal that moves next in the plan's direction.
func (p *View) next() (int32, bool) {
	if p.direction() == api.Back {
		return p.layout.nextBack(), p.layout.moved > p.layout.initial
	}
	return p.layout.nextForward(), p.layout.moved < p.layout.target
}

// initially says whether the destination owned an ordinal before the migration began.
func (p *View) initially(ordinal int32) bool {
	if p.layout.lowest {
		return ordinal < p.layout.lo+p.layout.initial
	}
	return ordinal >= p.layout.hi-p.layout.initial
}

// direction is the way that ordinals take now. A pause keeps the direction, so
// that a handoff on its way ends where it was going.
func (p *View) direction() api.Direction {
	switch {
	case p.Spec.Mode == api.ModeRollback, p.Spec.Mode == api.ModeRecover:
		return api.Back
	case (p.Spec.Mode == api.ModePause || p.Deleting) && p.Record.Fence != nil:
		return p.Record.Fence.Direction
	default:
		return api.Forward
	}
}

// resting says whether no handoff may begin.
func (p *View) resting() bool { return p.Spec.Mode == api.ModePause || p.Deleting }

func (p *View) outcome() string {
	switch {
	case p.Deleting:
		return api.ReasonReleased
	case p.Spec.Mode == api.ModeRecover:
		return api.ReasonRecovered
	case p.direction() == api.Back:
		return api.ReasonRolledBack
	default:
		return api.ReasonMoved
	}
}

// allUnavailable names the pods of both slices that are not available, other than
// the one of the ordinal that is left out.
func (p *View) allUnavailable(leaveOut *int32) []string {
	return append(podNames(p.Source, p.down(SourceSide), leaveOut), podNames(p.Destination, p.down(DestinationSide), leaveOut)...)
}

// down are the ordinals of a slice whose pods are not available.
func (p *View) down(name SideName) []int32 {
	found, known := p.downs[name]
	if !known {
		found = downOf(p.Snapshot, *p.Side(name))
		if p.downs == nil {
			p.downs = map[SideName][]int32{}
		}
		p.downs[name] = found
	}
	return found
}

// whole says whether the destination owns the whole application.
func (p *View) whole() bool { return p.layout.moved == p.layout.hi-p.layout.lo }
