package inplace

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/volumes"
)

// atRest checks the end: each claim is as the templates, on a volume of that form, and no disk of an ordinal was deleted.
func (w *world) atRest(to Manifest) {
	w.t.Helper()
	if w.record.Handoff != nil || w.record.Replace != nil || len(w.fills) > 0 {
		w.fail("left: %+v, %+v, %d attempts", w.record.Handoff, w.record.Replace, len(w.fills))
	}
	if w.ready() != replicas {
		w.fail("%d pods are ready", w.ready())
	}
	for ordinal := range int32(replicas) {
		for _, template := range to.Templates {
			name := claimName(template.Name, ordinal)
			c := w.claims[name]
			if c == nil || c.terminating || c.held || !w.follows(c, template, w.mode == api.ModeRollback) {
				w.fail("claim %s is not as %+v: %+v", name, template, c)
			}
			first := w.volumes["pv-"+name]
			if first == nil || c.volume != first.name && (!first.retain || first.ref.Name != volumes.Parked(volumes.Ref{Name: name}).Name) {
				w.fail("the first volume of claim %s is not kept: %+v", name, first)
			}
			if slices.Contains(w.wanted.Templates, logs) && template == logs && c.volume != first.name {
				w.fail("claim %s has left its volume, and its template is the same", name)
			}
			if v := w.volumes[c.volume]; v.retain || v.secured {
				w.fail("volume %s of claim %s does not have its own policy again: %+v", v.name, name, v)
			}
		}
	}
}

// finish lets the migration end, and checks the end.
func (w *world) finish() {
	w.t.Helper()
	if last := w.settle(); !last.Done {
		w.fail("it does not end: %+v, hold %+v", last, last.Hold)
	}
	to := w.wanted
	if w.mode == api.ModeRollback {
		to = w.former
	}
	w.atRest(to)
}

// TestAnyOrder: whatever the order in which the migration, late writes of an older process, and controllers with late caches
// act, however often the mode changes, and whenever a pod of the filler dies: at most one ordinal is down (I4), no two pods
// have one volume (I2), a pod starts only on a volume with its last write (I3), the last pass reads a volume that cannot be
// mounted under the name of the ordinal, no volume is provisioned under that name, and it ends (I6, I7).
func TestAnyOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(t, rapid.SampledFrom(targets).Draw(t, "target"))
		w.cold, w.attached = rapid.Bool().Draw(t, "cold"), rapid.Bool().Draw(t, "attached")
		w.updates, w.offline = rapid.Bool().Draw(t, "templates change by an update"), rapid.Bool().Draw(t, "file systems grow as pods start")
		if rapid.Bool().Draw(t, "no PodDisruptionBudget") {
			w.healthy = 0
		}
		var late *Action
		others := w.others()
		for _, n := range rapid.SliceOfN(rapid.IntRange(0, 39), 0, 400).Draw(t, "actors") {
			switch {
			case n < len(others):
				others[n]()
			case n == 36:
				w.dies(rapid.Int32Range(0, replicas-1).Draw(t, "ordinal"), rapid.SampledFrom([]volumes.Role{volumes.RoleReceiver, volumes.RoleSender}).Draw(t, "role"))
			case n == 37:
				w.mode = rapid.SampledFrom([]api.Mode{api.ModeRun, api.ModePause, api.ModeRollback}).Draw(t, "mode")
				w.note("mode %s", w.mode)
			case n == 38 && late != nil:
				w.note("late: %s %s: %t", late.Verb, late.Name, w.write(*late))
				w.check()
			case n == 39:
				// Without a PodDisruptionBudget nothing refuses a late eviction of a pod that keeps its claims.
				restarts := w.healthy == 0 && w.record.Handoff != nil && len(w.record.Handoff.Slots) == 0
				if d := Plan(w.observe(), w); d.Action != nil && d.Action.Verb != Fill && !restarts {
					late = d.Action
				}
			default:
				w.step()
			}
		}
		w.mode = rapid.SampledFrom([]api.Mode{api.ModeRun, api.ModeRollback}).Draw(t, "last mode")
		w.note("at last: mode %s", w.mode)
		w.finish()
	})
}

// TestEveryStepTurnsBack: after each step a rollback ends with the former templates, and each ordinal has its last write (I8).
func TestEveryStepTurnsBack(t *testing.T) {
	for _, target := range targets {
		for _, slow := range []int{1, 4, caches + 1} { // the claims of the StatefulSet controller, the volumes; none, and the set is updated
			t.Run(fmt.Sprintf("%s, cache %d is late", target.Text, slow), func(t *testing.T) {
				for steps := 0; ; steps++ {
					w := newWorld(t, target)
					w.slow, w.period, w.updates = slow, 7, slow > caches
					if done := w.steps(steps); done {
						if least := map[bool]int{true: 30, false: 7}[slices.ContainsFunc(replacing, target.Equals)]; steps < least {
							t.Fatalf("it has ended after %d steps", steps)
						}
						return
					}
					w.mode = api.ModeRollback
					w.note("rollback after %d steps", steps)
					w.finish()
				}
			})
		}
	}
}

// TestLateCaches: however late one cache of a controller is, it ends.
func TestLateCaches(t *testing.T) {
	for _, target := range targets {
		for slow := range caches {
			for _, period := range []int{2, 3, 5, 8, 13} {
				w := newWorld(t, target)
				w.slow, w.period, w.offline = slow, period, period%2 == 0
				w.note("cache %d is refreshed in every %d. round", slow, period)
				w.finish()
			}
		}
	}
}

// steps takes a number of steps, between which all others act. It reports whether the migration has ended.
func (w *world) steps(n int) bool {
	for range n {
		w.turn()
		if w.step() {
			return true
		}
	}
	return false
}

// TestEveryStepIsRepeated: a write whose answer was lost is decided again, and changes nothing (I7).
func TestEveryStepIsRepeated(t *testing.T) {
	w := newWorld(t, smaller)
	for range 1000 {
		w.turn()
		d := Plan(w.observe(), w)
		w.perform(d)
		if d.Done {
			w.atRest(w.wanted)
			return
		}
		if d.Action != nil && d.Action.Verb != Fill {
			w.note("again: %s %s: %t", d.Action.Verb, d.Action.Name, w.write(*d.Action))
			w.check()
		}
	}
	w.fail("it does not end")
}

// TestOrder: the highest ordinal is the first, and only one is in flight.
func TestOrder(t *testing.T) {
	w := newWorld(t, smaller)
	var order []int32
	for range 1000 {
		w.turn()
		done := w.step()
		if h := w.record.Handoff; h != nil && !slices.Contains(order, h.Ordinal) {
			order = append(order, h.Ordinal)
		}
		if done {
			break
		}
	}
	if !slices.Equal(order, []int32{2, 1, 0}) {
		t.Errorf("the order is %v", order)
	}
}

// releasing reports whether a claim of the ordinal in flight was released, and its successor is not bound yet. In that
// moment other templates could let the controller create a claim that the reserved volume does not fit.
func (w *world) releasing() bool {
	h := w.record.Handoff
	if h == nil || !h.Sealed && !h.Turned {
		return false
	}
	for _, handed := range h.Slots {
		c := w.claims[claimName(handed.Template, h.Ordinal)]
		if c == nil || c.volume == "" || c.terminating && !c.held {
			return true
		}
	}
	return false
}

// TestRevertedAfterEveryStep: after each step another writer recreates the set with its old templates. No replica stays down,
// and no pod starts without its data. When the templates are right again, the migration ends.
func TestRevertedAfterEveryStep(t *testing.T) {
	for _, target := range targets {
		for _, updates := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, by an update: %t", target.Text, updates), func(t *testing.T) { revertedAfterEveryStep(t, target, updates) })
		}
	}
}

func revertedAfterEveryStep(t *testing.T, target Manifest, updates bool) {
	t.Helper()
	for steps := 0; ; steps++ {
		w := newWorld(t, target)
		w.updates = updates
		if done := w.steps(steps); done {
			return
		}
		if w.releasing() {
			continue
		}
		w.note("the templates are reverted after %d steps", steps)
		w.recreatedBy(w.former)
		last := w.settle()
		if stalled := last.Hold != nil && last.Hold.Stalled && slices.Contains([]string{api.ReasonTemplatesReverted, api.ReasonCopyTurnedBack}, last.Hold.Reason); !last.Done && !stalled || w.ready() != replicas {
			w.fail("%d pods are ready: %+v, hold %+v", w.ready(), last, last.Hold)
		}
		if w.set.manifest.Equals(w.former) {
			w.recreatedBy(w.wanted)
		}
		w.mode = api.ModePause
		w.settle()
		w.mode = api.ModeRun
		w.finish()
	}
}
