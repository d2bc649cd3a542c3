package planner

import (
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sliceshift/sliceshift/migration/plan"
	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/volumes"
)

// limitPlanner takes an ordinal back that is copied for too long while it is down, and has no other one stopped then.
type limitPlanner struct{ *View }

// takenBack says whether the ordinal on its way is on its way back by itself.
func (p *View) takenBack() bool {
	turned, handoff := p.Record.TurnedBack, p.Record.Handoff
	return turned != nil && handoff != nil && handoff.Ordinal == turned.Ordinal
}

// turnBack turns the handoff of an ordinal round which is down for longer than its copy may take, as a rollback would.
// Where any of its volumes was taken over it goes on: back it would go by another copy alone.
func (p limitPlanner) turnBack(k int32, held []plan.OrdinalVolume) *plan.Decision {
	if p.direction() == api.Back {
		return nil
	}
	var late *plan.OrdinalVolume
	for i, v := range held {
		pair := p.pair(v)
		if p.gone(v, pair) {
			return nil
		}
		if limited, is := v.Way().(volumes.Limited); is && late == nil && limited.Overdue(pair, p.spent(api.StepCarryVolumes)) {
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

// gone says whether a volume has been replaced by a second one: a way back leads over that.
func (p limitPlanner) gone(v plan.OrdinalVolume, pair volumes.Pair) bool {
	if v.Method.FillsSecond() {
		return volumes.HandingOf(pair).Taken()
	}
	return v.Separate() && pair.Giver.Parked()
}

// wait says why nothing is stopped since an ordinal was taken back; nil: none was, or its limit is another one now.
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
		fmt.Sprintf("the copy of claim template %s of ordinal %d was not done %s after its stop, which is copy.downtimeLimit: at %s the ordinal was taken back to the volume that it had in cluster %s. No ordinal is stopped by this migration now",
			turned.ClaimTemplate, turned.Ordinal, turned.Limit.Duration, turned.Time.UTC().Format(time.RFC3339), p.Source.Cluster),
		fmt.Sprintf("see what its pods said (%s); then raise copy.downtimeLimit for claim template %[2]s in spec.volumes, or take it out: --volume %[2]s=copy,...,limit=DURATION; or go back: %[3]s",
			p.command("status"), turned.ClaimTemplate, p.command("rollback")))
}
