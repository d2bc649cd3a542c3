package planner

import (
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/volumes"
)

// limitPlanner rolls an ordinal back whose copy exceeds downtimeLimit, and starts no further handoff.
type limitPlanner struct{ *View }

// takenBack reports whether the ordinal in flight is being rolled back automatically.
func (p *View) takenBack() bool {
	turned, handoff := p.Record.TurnedBack, p.Record.Handoff
	return turned != nil && handoff != nil && handoff.Ordinal == turned.Ordinal
}

// turnBack reverses the handoff of an ordinal that is down for longer than its copy may take, like a rollback. If
// any of its volumes was already taken over, the handoff continues, because moving back would then require another
// copy. So it does beside other handoffs, when the limit was
// set later: the ordinals beyond it could not arrive.
func (p limitPlanner) turnBack(k int32, held []plan.OrdinalVolume) *plan.Decision {
	if p.direction() == api.Back || len(p.Record.Further) > 0 {
		return nil
	}
	var late *plan.OrdinalVolume
	for i, v := range held {
		pair := p.pair(v)
		if p.gone(v, pair) {
			return nil
		}
		if late == nil && volumes.HandingOf(pair).Overdue(p.downFor()) {
			late = &held[i]
		}
	}
	if late == nil {
		return nil
	}
	next := p.Record
	next.TurnedBack = &api.CopyTurnedBack{
		Ordinal: k, ClaimTemplate: late.Template, Limit: metav1.Duration{Duration: late.Copy.Asked.Limit}, Time: metav1.NewTime(p.Now),
	}
	return &plan.Decision{Record: &next}
}

// gone reports whether a volume has been replaced by a second one, so that moving back requires that one.
func (p limitPlanner) gone(v plan.OrdinalVolume, pair volumes.Pair) bool {
	if v.Method.FillsSecond() {
		return volumes.HandingOf(pair).Taken()
	}
	return v.Separate() && pair.Giver.Parked()
}

// wait stalls after an ordinal was rolled back automatically; nil: none was, or its limit has changed since.
func (p limitPlanner) wait() *plan.Decision {
	turned := p.Record.TurnedBack
	if turned == nil || p.direction() == api.Back {
		return nil
	}
	at := slices.IndexFunc(p.Volumes, func(v plan.OrdinalVolume) bool { return v.Template == turned.ClaimTemplate })
	if at >= 0 {
		v := p.Volumes[at]
		if v.Method != api.MethodCopy || v.Copy == nil || v.Copy.Asked.Limit <= 0 || v.Copy.Asked.Limit > turned.Limit.Duration {
			return nil
		}
	}
	return plan.Stalled(api.ReasonCopyTurnedBack,
		fmt.Sprintf("the copy of claim template %s of ordinal %d was not complete %s after its stop (copy.downtimeLimit): at %s the ordinal was moved back to its former volume in cluster %s. This migration stops no ordinal now",
			turned.ClaimTemplate, turned.Ordinal, turned.Limit.Duration, turned.Time.UTC().Format(time.RFC3339), p.Source.Cluster),
		fmt.Sprintf("see the results of its pods (%s); then raise copy.downtimeLimit for claim template %[2]s in spec.volumes, or remove it: --volume %[2]s=copy,...,limit=DURATION; or roll back: %[3]s",
			p.command("status"), turned.ClaimTemplate, p.command("rollback")))
}

// turnPlanner performs an automatic rollback, once. A write of mode Run over it does not confirm that the failure
// is fixed. A tool that keeps spec.mode in Git writes Run repeatedly, and each time one more replica would be
// stopped.
type turnPlanner struct{ *View }

// turned reports whether an automatic rollback was decided but the mode is Run: Rollback is not written yet, or
// another writer has since written Run. As in a pause, nothing begins then.
func (p *View) turned() bool {
	return p.Record.AutomaticRollback != nil && p.Spec.Mode == api.ModeRun && !p.Deleting
}

// longestWhy bounds the recorded reason of an automatic rollback, in bytes.
const longestWhy = 512

// remember records the reason of an automatic rollback before the mode is written, so that a crash in between does
// not lose it.
func (p turnPlanner) remember(decision plan.Decision) plan.Decision {
	hold := decision.Hold
	if hold == nil || !hold.TurnBack || p.Record.AutomaticRollback != nil {
		return decision
	}
	next := p.Record
	next.AutomaticRollback = &api.AutomaticRollback{Reason: hold.Reason, By: hold.By, Message: cut(hold.Message, longestWhy), Time: metav1.NewMicroTime(p.Now)}
	return plan.Decision{Record: &next, Step: decision.Step}
}

// due requests that Rollback is written, until it was written once. A fence with direction Back shows that it was.
func (p turnPlanner) due() *plan.Decision {
	if fence := p.Record.Fence; !p.turned() || p.RollbackWritten || fence == nil || fence.Direction == api.Back {
		return nil
	}
	turn := p.Record.AutomaticRollback
	return &plan.Decision{Hold: &plan.Hold{
		Reason: turn.Reason, Message: turn.Message, Stalled: true, TurnBack: true, By: turn.By,
		Remedy: "no action is needed: the migration is rolled back, because of onFailure of " + turn.By,
	}}
}

// forget clears the records in a pause, with which a user confirms that the migration may continue. The record of
// a start that must be undone remains until both sides show that it was undone.
func (p turnPlanner) forget() *plan.Decision {
	if p.Record.AutomaticRollback == nil && p.Record.StartWithdrawn == nil || p.Spec.Mode != api.ModePause || p.Deleting {
		return nil
	}
	next := p.Record
	next.AutomaticRollback = nil
	if _, twice := foreignPlanner(p).startedTwice(); !twice && p.Source.Reach == plan.Seen && p.Destination.Reach == plan.Seen {
		next.StartWithdrawn = nil
	}
	if next.AutomaticRollback == p.Record.AutomaticRollback && next.StartWithdrawn == p.Record.StartWithdrawn {
		return nil
	}
	return &plan.Decision{Record: &next}
}

// reverted returns the hold that names the writer of mode Run over an automatic rollback, and the user's options.
func (p turnPlanner) reverted(where string) *plan.Hold {
	turn, writer := p.Record.AutomaticRollback, "its writer is unknown"
	if p.ModeWriter != "" {
		writer = fmt.Sprintf("%q has written it", p.ModeWriter)
	}
	return &plan.Hold{
		Reason: api.ReasonRollbackReverted, Stalled: true,
		Message: fmt.Sprintf("spec.mode is Run again, and %s: at %s %s failed, and the migration was rolled back, because of its onFailure (%s). No pause has confirmed that this is fixed: %s",
			writer, turn.Time.UTC().Format(time.RFC3339), turn.By, turn.Message, where),
		Remedy: fmt.Sprintf("to roll back: set mode: Rollback where the Migration is stored, in Git if a tool applies it from there, or else %s; to continue to the destination anyway, set Pause and then Run: %s, then %s",
			p.command("rollback"), p.command("pause"), p.command("resume")),
	}
}
