package planner

import (
	"cmp"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/plan"
)

// takeStartBack undoes the migration's own last start if another writer has started the same ordinal on the other
// side, in a set without claims. Nothing else prevents both pods from running (I1). An ordinal with a claim can
// run only on the side with its volume.
//
// It costs no replica (I4, I5): the other side's pod is available, or the ordinal is the one in flight, whose
// absence the budgets allow for. It changes nothing that another writer has written (I9). It is recorded first,
// and no ordinal is stopped again until a user pauses the migration.
func (p foreignPlanner) takeStartBack() *plan.Decision {
	k, twice := p.startedTwice()
	if !twice {
		return nil
	}
	if done := p.Record.StartWithdrawn; done == nil || done.Ordinal != k {
		next := p.Record
		next.StartWithdrawn = &api.StartWithdrawn{Ordinal: k, By: cut(p.giver.Set.ScalesBy, longestWriter), Time: metav1.NewTime(p.Now)}
		return &plan.Decision{Record: &next}
	}
	return scale(plan.ScaleDown, p.takerName, p.taker.Set, k)
}

// longestWriter bounds the recorded name of a writer, in bytes.
const longestWriter = 256

// startedTwice returns the ordinal at the taker's end that the giver owns as well. The taker's start must be the
// migration's own, the giver's another writer's, and the taker must be able to stop it without cost.
func (p foreignPlanner) startedTwice() (ordinal int32, twice bool) {
	giver, taker := p.giver.Set, p.taker.Set
	if giver.Presence != plan.Seen || taker.Presence != plan.Seen || taker.Replicas == 0 || len(p.Source.Set.Templates) > 0 || p.Destination.Lost {
		return 0, false
	}
	k := taker.Start
	if giver.Start > taker.Start {
		k = taker.End() - 1
	}
	if !giver.Has(k) || giver.ScalesBy == "" || taker.ScalesBy != "" {
		return 0, false
	}
	onItsWay := p.Record.Moves(k)
	if !onItsWay && (p.direction() == api.Back || p.initially(k)) {
		return 0, false // this migration has not started it
	}
	pod, found := p.giver.Pod(k)
	return k, onItsWay || found && pod.Available(p.Now, max(p.Spec.MinReady, giver.MinReady))
}

// withdrawn holds after a start was undone: the other writer would scale that side up again.
func (p gatePlanner) withdrawn() *plan.Hold {
	done := p.Record.StartWithdrawn
	if done == nil || p.direction() == api.Back {
		return nil
	}
	return &plan.Hold{
		Reason: api.ReasonForeignScale, Stalled: true,
		Message: fmt.Sprintf("at %s %q had scaled %s, so that ordinal %d ran on both sides: the migration has stopped the one that it had started, and stops no other ordinal now",
			done.Time.UTC().Format(time.RFC3339), cmp.Or(done.By, "another writer"), p.giver.Object(), done.Ordinal),
		Remedy: fmt.Sprintf("stop that writer, or block it by the admission policy (kubectl migrate install --fence); then pause and resume the migration: %s, then %s",
			p.command("pause"), p.command("resume")),
	}
}
