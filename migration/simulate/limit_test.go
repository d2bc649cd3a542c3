package simulate

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/migration/plan/plantest"
	"github.com/sliceshift/sliceshift/migration/planner"
)

// limited is a world with two ordinals whose copies have a downtime limit. Their pods run on a node.
func limited(limit time.Duration) *World {
	s := plantest.Scenario{Replicas: 2, Templates: []string{"data"}, Method: api.MethodCopy}.Build()
	for i := range s.Source.Pods {
		s.Source.Pods[i].Node = "node"
	}
	w := NewWorld(s)
	w.limits(limit)
	return w
}

func (w *World) limits(limit time.Duration) {
	for i := range w.State.Volumes {
		w.State.Volumes[i].Copy.Asked.Limit = limit
		w.State.Volumes[i].Copy.Asked.Cutover = api.CutoverNow
	}
}

// act performs the next step of the plan, recorded as in a status. When it waits, a second passes.
func (w *World) act(t *rapid.T) plan.Decision {
	decision := planner.Plan(w.State)
	if handoff := w.State.Record.Handoff; decision.Step != "" && handoff != nil && handoff.Step != decision.Step {
		now := *handoff
		now.Step, now.StepTime = decision.Step, metav1.NewMicroTime(w.State.Now)
		w.State.Record.Handoff = &now
	}
	switch {
	case decision.Record != nil:
		step, begun := w.State.Record.Handoff, decision.Record.Handoff
		w.Note(*decision.Record)
		if step != nil && begun != nil && step.Ordinal == begun.Ordinal {
			begun.Step, begun.StepTime = step.Step, step.StepTime
		}
		w.State.Engaged = decision.Record.Fence != nil && decision.Record.Fence.Holder == w.State.Holder
	case decision.Effect != nil:
		if err := w.Apply(*decision.Effect); err != nil {
			t.Fatalf("%s: %v", decision.Effect, err)
		}
	default:
		w.State.Now = w.State.Now.Add(time.Second)
	}
	w.Settle()
	return decision
}

// until acts until a condition holds.
func (w *World) until(t *rapid.T, so func(plan.Decision) bool) plan.Decision {
	for range 600 {
		if decision := w.act(t); so(decision) {
			return decision
		}
	}
	t.Fatalf("it does not come to that: %s\n%+v", w, planner.Plan(w.State))
	return plan.Decision{}
}

func turnedBack(d plan.Decision) bool {
	return d.Hold != nil && d.Hold.Stalled && d.Hold.Reason == api.ReasonCopyTurnedBack
}

// TestLimitTurnsBack: an ordinal whose copy exceeds the limit while it is down moves back alone, to its former
// volume. The migration stalls, and continues with another limit. Ordinals that moved before remain.
func TestLimitTurnsBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const limit = time.Minute
		w := limited(limit)
		moved := rapid.Int32Range(0, 1).Draw(t, "moved before")
		w.until(t, func(plan.Decision) bool {
			return w.State.Destination.Set.Replicas == moved
		})
		before := w.State.Volumes[1-moved].Source.Volume
		w.Mute = true
		w.until(t, func(plan.Decision) bool { return !w.State.Source.Set.Has(1 - moved) })
		down := w.State.Now
		w.until(t, func(plan.Decision) bool { return w.State.Source.Set.Has(1 - moved) })
		if took := w.State.Now.Sub(down); took < limit || took > limit+30*time.Second {
			t.Fatalf("it was down for %s", took)
		}
		held := w.until(t, turnedBack)
		after := w.State.Volumes[1-moved].Source
		if !after.Bound() || after.Volume.Name != before.Name || after.Volume.Released != "" || w.State.Destination.Set.Replicas != moved || w.State.Record.Handoff != nil {
			t.Fatalf("it is on %+v, and the destination has %d\n%+v", after, w.State.Destination.Set.Replicas, held.Hold)
		}
		if decision := w.act(t); !turnedBack(decision) {
			t.Fatalf("it goes on by itself: %+v", decision)
		}
		w.Mute = false
		w.limits(rapid.SampledFrom([]time.Duration{0, limit + time.Second}).Draw(t, "another limit"))
		if done := w.until(t, func(d plan.Decision) bool { return d.Done != "" }); done.Done != api.ReasonMoved || w.State.Record.TurnedBack != nil {
			t.Fatalf("it ends with %s: %+v", done.Done, w.State.Record.TurnedBack)
		}
	})
}

// TestLimitAndRollback: an automatically reversed migration, or one about to be, is rolled back like any other.
func TestLimitAndRollback(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := limited(time.Minute)
		w.Mute = true
		for range rapid.IntRange(0, 200).Draw(t, "acts") {
			w.act(t)
		}
		w.State.Spec.Mode = api.ModeRollback
		if done := w.until(t, func(d plan.Decision) bool { return d.Done != "" }); done.Done != api.ReasonRolledBack || w.State.Source.Set.Replicas != 2 {
			t.Fatalf("it ends with %s: %s", done.Done, w)
		}
	})
}
