package model

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/migration/plan/plantest"
	"github.com/sliceshift/sliceshift/pdb/pdbtest"
	"github.com/sliceshift/sliceshift/volumes"
)

// lose removes the destination's objects of a claim's copies. What the ordinal has written is then what the source has.
func (m *machine) lose(i int) {
	y, v, lost := &m.yards[i], &m.State.Volumes[i], plan.DestinationSide
	y.claims = slices.DeleteFunc(y.claims, func(c moverClaim) bool { return c.side == lost })
	y.movers = slices.DeleteFunc(y.movers, func(pod mover) bool { return pod.side == lost })
	y.spare = slices.DeleteFunc(y.spare, func(s spareVolume) bool { return s.side == lost })
	y.snaps = slices.DeleteFunc(y.snaps, func(s snap) bool { return s.side == lost })
	y.contents = slices.DeleteFunc(y.contents, func(c snapContent) bool { return c.side == lost })
	y.later, y.written = "", y.content[v.Source.Volume.Handle]
	for _, s := range y.spare {
		taken, left := s.ClaimRef.Names(v.Source.Ref), !v.Source.Volume.Found && s.ClaimRef.Names(volumes.Parked(v.Source.Ref))
		if taken || left && y.written == 0 { // a copy that was taken over on the way back, or the volume that waits for that
			y.written = y.content[s.Handle]
		}
	}
}

// recovered recovers to the end, and checks that each ordinal runs at the source on its own volume.
func (y *play) recovered(n int, replicas int32) {
	y.t.Helper()
	y.vanish()
	y.recover()
	y.settle(everyone)
	for range 400 {
		decision := y.pass(lands)
		if decision.Done != "" {
			break
		}
		if hold := decision.Hold; hold != nil && hold.Stalled && hold.Reason == volumes.ReasonClaimMissing {
			y.recreate(n)
		}
	}
	if y.State.Record.Completed != api.ReasonRecovered && y.State.Record.Completed != api.ReasonRolledBack {
		y.t.Fatalf("after write %d: it does not end: %+v\n%s", n, y.next(), y.story())
	}
	if set := y.State.Source.Set; set.Replicas != replicas || set.Fence != "" {
		y.t.Fatalf("after write %d: the source is %+v", n, set)
	}
	for i, v := range y.State.Volumes {
		if !v.Source.Bound() || v.Source.Volume.Released != "" || y.yards[i].content[v.Source.Volume.Handle] != y.yards[i].written {
			y.t.Fatalf("after write %d: %s-%d: %+v", n, v.Template, v.Ordinal, v.Source)
		}
		for _, claim := range y.yards[i].claims {
			if claim.attempt == 0 {
				y.t.Fatalf("after write %d: claim %s is left", n, claim.name)
			}
		}
	}
}

// recreate creates the claim of an ordinal at the source, on the volume that waits there, as the message asks for. On the
// way back, that claim is deleted before it is created on the copy.
func (y *play) recreate(n int) {
	y.t.Helper()
	for i := range y.State.Volumes {
		v, spare := &y.State.Volumes[i], y.yards[i].spare
		at := slices.IndexFunc(spare, func(s spareVolume) bool { return s.ClaimRef.Names(volumes.Parked(v.Source.Ref)) })
		if v.Source.Claim.Found || at < 0 {
			continue
		}
		v.Source.Volume = spare[at].Volume
		v.Source.Claim = volumes.Claim{Found: true, UID: y.NewUID(), ResourceVersion: y.NewVersion(), Phase: corev1.ClaimLost, Volume: spare[at].Name}
		y.yards[i].spare = slices.Delete(slices.Clone(spare), at, at+1)
		return
	}
	y.t.Fatalf("after write %d: no claim is missing: %+v\n%s", n, y.next(), y.story())
}

// TestRecoverFromCopies (G15): the destination is lost after each write of a move whose volumes are copied, or restored
// from snapshots, and of its way back. Every ordinal starts at the source, on the volume that it had left there.
func TestRecoverFromCopies(t *testing.T) {
	copied, snapped := moved(api.MethodCopy, 2), moved(api.MethodSnapshot, 2)
	copied.Budget, snapped.Budget = pdbtest.MaxUnavailable(1), pdbtest.MaxUnavailable(1)
	for name, c := range map[string]plantest.Scenario{
		"copy": copied, "proven later": provenLater(copied), "2 claims": both(moved(api.MethodCopy, 1)), "snapshot": snapped,
	} {
		t.Run(name, func(t *testing.T) {
			afterEach(t, c, func(n int, y *play) {
				if y.State.Record.Baseline != nil {
					y.fork().recovered(n, c.Replicas)
				}
			})
		})
		t.Run(name+", on the way back", func(t *testing.T) {
			y := newPlay(t, c)
			for y.State.Destination.Set.Replicas == 0 {
				y.writes(1)
			}
			y.writes(8) // it arrives, and what is left beside it is removed
			y.setMode(api.ModeRollback)
			for n := 0; y.writes(1) > 0; n++ {
				if y.State.Record.Completed == "" {
					y.fork().recovered(n, c.Replicas)
				}
			}
		})
	}
}
