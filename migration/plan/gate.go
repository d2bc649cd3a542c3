package plan

import (
	"cmp"
	"fmt"
	"strings"

	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/volumes"
)

// gate says why an ordinal must not be stopped now: what it would cost (I5), and what
// would make the stop unsafe. On the way back an ordinal that is down already costs
// nothing: only what is unsafe holds it there, for a rollback is asked for most when
// something is down (I8).
func (p *planner) gate(k int32) *Hold {
	if !p.takesBackDown(k) {
		if hold := p.costs(k); hold != nil {
			return hold
		}
	}
	return p.unsafe(k)
}

// takesBackDown says whether an ordinal that is to go back is down where it is. One that has
// not been Ready for long enough serves all the same.
func (p *planner) takesBackDown(k int32) bool {
	if p.direction() != api.Back {
		return false
	}
	pod, found := p.giver.Pod(k)
	return !found || !pod.Ready || pod.Terminating
}

// costs holds while another replica down would be one too many, or one that a roll-out
// takes down as well. The ordinal itself does not count: it is given up, available or not.
func (p *planner) costs(k int32) *Hold {
	names := p.allUnavailable(&k)
	ordered := p.Source.Set.Ordered || p.Destination.Set.Ordered
	if len(names) > 0 && (ordered || int32(len(names)) >= p.Record.Baseline.Budget) {
		return &Hold{
			Reason:  api.ReasonReplicaUnavailable,
			Message: fmt.Sprintf("waiting until %s is available: another replica down would exceed the budget of %d", strings.Join(names, ", "), p.Record.Baseline.Budget),
		}
	}
	if hold := p.outdated(); hold != nil {
		return hold
	}
	return cmp.Or(p.Source.rolling(), p.Destination.rolling())
}

// rolling holds while pods of a slice are replaced.
func (s *Side) rolling() *Hold {
	switch {
	case s.Set.Presence != Seen || !s.Set.rollsOut():
		return nil
	case s.Set.RolledOut:
		return &Hold{Reason: api.ReasonRolloutInProgress, Message: "waiting until the pods of " + s.object() + " that somebody has asked to go are replaced"}
	case s.Set.Rolls.AllAtOnce:
		return s.replacedTogether()
	default:
		return &Hold{Reason: api.ReasonRolloutInProgress, Message: "waiting until the roll-out of " + s.object() + " is done"}
	}
}

// unsafe holds while a stop could not be followed by a start, or would do harm.
func (p *planner) unsafe(k int32) *Hold {
	if p.Numbers != nil {
		return p.Numbers.Hold()
	}
	for _, side := range []*Side{&p.Source, &p.Destination} {
		if finding := cmp.Or(side.coversOthers(), side.leavesOut()); finding != nil {
			return finding.Hold()
		}
		if finding := side.deletesClaims(); finding != nil && side == p.giver {
			return finding.Hold()
		}
		if hold := side.behind(); hold != nil {
			return hold
		}
		for _, pod := range side.Pods {
			if !side.Set.Has(pod.Ordinal) {
				return &Hold{Reason: api.ReasonPodTerminating, Message: fmt.Sprintf("waiting until pod %s/%s-%d in cluster %s, outside of its slice, is gone", side.Namespace, side.Set.Name, pod.Ordinal, side.Cluster)}
			}
		}
	}
	return p.shared(k)
}

// behind holds while a controller has not observed the last change of its slice.
func (s *Side) behind() *Hold {
	if s.Set.Presence != Seen || s.Set.Observed {
		return nil
	}
	return &Hold{Reason: api.ReasonControllerBehind, Message: "waiting until the controller of " + s.object() + " has observed its last change"}
}

// shared holds while something else than the ordinal's own pod has its volumes, or their place
// on the other side: once the pod were stopped, they could go nowhere.
func (p *planner) shared(k int32) *Hold {
	pod, _ := p.giver.Pod(k)
	for _, v := range p.Volumes {
		if v.Ordinal != k {
			continue
		}
		giver := p.pair(v).Giver
		if hold := inUse(giver); hold != nil {
			return hold
		}
		if problem := volumes.Free(p.pair(v)); problem != nil {
			return &Hold{Reason: problem.Reason, Message: fmt.Sprintf("ordinal %d: %s", k, problem.Message), Remedy: problem.Remedy, Stalled: true}
		}
		for _, attachment := range giver.Volume.Attachments {
			if attachment.Node != pod.Node {
				return stillAttached(giver.Volume, attachment)
			}
		}
		taker := p.pair(v).Taker
		if hold := inUse(taker); hold != nil {
			return hold
		}
		if hold := anyAttached(taker); hold != nil && !p.Spec.SameCluster { // of one cluster it is the giver's
			return hold
		}
	}
	return nil
}

// catchUp says how the destination gets the change of the pod template that the source has
// got. One side goes after the other: a native controller replaces a pod without asking a
// PodDisruptionBudget, and of two at once each takes one down.
func (p *planner) catchUp() string {
	var steps []string
	from, to := p.Source, p.Destination
	if from.Set.rollsOut() {
		steps = append(steps, fmt.Sprintf("first wait until the roll-out in cluster %s is done: %s", from.Cluster, from.Set.rolloutStatus(from.Namespace)))
	}
	return strings.Join(append(steps,
		fmt.Sprintf("make the same change in cluster %s: kubectl edit %s -n %s %s", to.Cluster, to.Set.resource(), to.Namespace, to.Set.Name),
		"and wait until it is rolled out there: "+to.Set.rolloutStatus(to.Namespace),
		fmt.Sprintf("when it has the change in another form: kubectl annotate %s -n %s %s --overwrite %s=%s",
			to.Set.resource(), to.Namespace, to.Set.Name, api.TemplateAnnotationKey, p.Template.Hash),
	), "; ")
}
