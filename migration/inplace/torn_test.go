package inplace

import (
	"fmt"
	"testing"
)

// torn returns a snapshot whose parts were read at two moments: the claims, or the volumes, before all others have acted some
// times.
func (w *world) torn(claimsFirst bool, turns int) Snapshot {
	before := w.observe()
	for range turns {
		w.turn()
	}
	s := w.observe()
	for i := range s.Ordinals {
		for j := range s.Ordinals[i].Slots {
			slot, old := &s.Ordinals[i].Slots[j], before.Ordinals[i].Slots[j]
			if claimsFirst {
				slot.Claim, slot.Needs, slot.Returns = old.Claim, old.Needs, old.Returns
				continue
			}
			if slot.Old.Name == old.Old.Name {
				slot.Old = old.Old
			}
			if slot.New.Name == old.New.Name {
				slot.New = old.New
			}
		}
	}
	return s
}

// TestTornReads: the API server answers reads one after the other, and controllers act in between. No volume is taken from a
// claim that was bound to it meanwhile (I2), and it ends.
func TestTornReads(t *testing.T) {
	for _, target := range targets {
		for _, claimsFirst := range []bool{true, false} {
			for _, turns := range []int{1, 2, 3, 5} {
				t.Run(fmt.Sprintf("%s, %d turns between, claims first: %t", target.Text, turns, claimsFirst), func(t *testing.T) {
					newWorld(t, target).endsTorn(claimsFirst, turns)
				})
			}
		}
	}
}

// endsTorn plans on torn snapshots until the migration ends.
func (w *world) endsTorn(claimsFirst bool, turns int) {
	w.t.Helper()
	for range 2000 {
		w.now = w.now.Add(1e9)
		d := Plan(w.torn(claimsFirst, turns), w)
		if w.perform(d); d.Done {
			w.atRest(w.wanted)
			return
		}
	}
	w.fail("it does not end")
}
