package inplace

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
)

// TestAnyOrderOfWriters: other writers recreate the set with either templates, the PodDisruptionBudget forbids evictions for a
// while, and nodes are lost and return, in any order with all that TestAnyOrder plays. No two pods have one volume (I2), a pod
// starts only on a volume with its last write (I3), and it ends once a person follows the remedies (I6).
func TestAnyOrderOfWriters(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(t, rapid.SampledFrom(targets).Draw(t, "target"))
		w.cold = rapid.Bool().Draw(t, "cold")
		others := append(w.others(), w.faults()...)
		for _, n := range rapid.SliceOfN(rapid.IntRange(0, len(others)+20), 0, 400).Draw(t, "actors") {
			if n < len(others) {
				others[n]()
				continue
			}
			w.step()
		}
		w.lost, w.healthy = "", replicas-1
		w.mode = rapid.SampledFrom([]api.Mode{api.ModeRun, api.ModeRollback}).Draw(t, "last mode")
		w.note("at last: mode %s", w.mode)
		w.tended()
		w.finish()
	})
}

// faults are what other writers, machines and the user of the migration do. No writer changes the templates in the moment in
// which no migration could prevent that an empty volume is provisioned.
func (w *world) faults() []func() {
	writes := func(to Manifest) func() {
		return func() {
			if !w.releasing() && w.record.Former.Text != "" {
				w.recreatedBy(to)
			}
		}
	}
	mode := func(to api.Mode) func() {
		return func() {
			w.mode = to
			w.note("mode %s", to)
		}
	}
	return []func(){
		writes(w.former), writes(w.wanted), mode(api.ModeRun), mode(api.ModePause), mode(api.ModeRollback),
		func() { w.healthy = 2*replicas - 1 - w.healthy },
		func() {
			if w.round++; w.lost == "" {
				w.lost = fmt.Sprintf("node-%d", w.round%replicas)
			} else {
				w.lost = ""
			}
			w.note("lost: %q", w.lost)
		},
	}
}

// tended follows the remedies until the migration does not stall any more.
func (w *world) tended() {
	w.t.Helper()
	const enough = 10
	wants, to := w.mode, w.wanted
	if wants == api.ModeRollback {
		to = w.former
	}
	for range enough {
		last := w.settle()
		if last.Hold == nil || !last.Hold.Stalled {
			return
		}
		switch {
		case last.Hold.Reason == api.ReasonCopyTurnedBack:
			w.mode = api.ModePause
			w.settle()
			w.mode = wants
		case slices.Contains([]string{api.ReasonTemplatesReverted, api.ReasonSourceMissing}, last.Hold.Reason):
			w.recreatedBy(to)
		default:
			w.fail("it stalls with %+v", last.Hold)
		}
	}
	w.fail("it stalls again and again")
}
