package planner

import (
	"cmp"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/volumes"
)

// begin records the next ordinal's handoff when no gate blocks it. Until then no budget is reserved.
func (p handoffPlanner) begin() *plan.Decision {
	k, more := p.next()
	if p.resting() || !more {
		if decision := p.budget.reserveBudget(0); decision != nil {
			return decision
		}
		if decision := p.budget.liftCaps(); decision != nil {
			return decision
		}
		switch {
		case p.resting() && !p.Deleting:
			return cmp.Or(p.budget.recordMarks(), p.rests(k, more))
		case len(p.Record.Ahead) > 0:
			hold := plan.Hold{Reason: api.ReasonCopying, Message: fmt.Sprintf("waiting until the early copies of ordinal %d are removed", p.Record.Ahead[0].Ordinal)}
			return &plan.Decision{Hold: &hold, Wait: volumes.Look}
		}
		return nil
	}
	waits := cmp.Or(limitPlanner{p.View}.wait(), p.hooks.early(k))
	if waits == nil {
		if hold := p.gates.gate(k); hold != nil {
			waits = p.held(api.StepGate, *hold)
		} else if !p.ahead.asked(k) { // otherwise they run right before its stop
			waits = p.hooks.late(k)
		}
	}
	if waits == nil {
		return p.recordAll(k)
	}
	return cmp.Or(p.budget.reserveBudget(0), p.budget.recordMarks(), waits)
}

// rests returns the reason that no handoff begins.
func (p handoffPlanner) rests(k int32, more bool) *plan.Decision {
	if p.turned() {
		return &plan.Decision{Hold: turnPlanner{p.View}.reverted("each ordinal keeps running where it is, and this migration stops none now")}
	}
	next := "the settings changed for the move are restored next"
	if more {
		next = fmt.Sprintf("ordinal %d is next", k)
	}
	return &plan.Decision{Hold: &plan.Hold{Reason: api.ReasonPaused, Message: "mode is Pause; " + next}}
}

// record begins the handoff of an ordinal.
func (p handoffPlanner) record(k int32, next plan.Record) *plan.Decision {
	next.Handoff = &api.Handoff{Ordinal: k, Step: api.StepReserveBudget, StartTime: metav1.NewMicroTime(p.Now), Attempts: 1, Volumes: p.carried.volumesNow(k), Load: loadPlanner{p.View}.loadOf(k)}
	next.Baseline, next.Hooks, next.TurnedBack = p.engagedBaseline(), p.hooks.begun(k), nil
	for i, v := range next.Handoff.Volumes { // data that was copied before its turn counts
		next.Handoff.Volumes[i].Copy = copyOf(AsHandoff(next, k).Handoff.Volume(v.ClaimTemplate), v)
	}
	next.Ahead = withAhead(next.Ahead, k, nil)
	return &plan.Decision{Record: &next, Step: api.StepGate}
}

// engagedBaseline returns the baseline with the UID of the destination's StatefulSet, which is known when the
// first ordinal is about to move and cannot be observed later.
func (p handoffPlanner) engagedBaseline() *api.Baseline {
	base := *p.Record.Baseline
	if base.DestinationUID == "" && p.Destination.Set.Presence == plan.Seen {
		base.DestinationUID = p.Destination.Set.UID
	}
	return &base
}
