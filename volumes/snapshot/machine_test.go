package snapshot

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/sliceshift/sliceshift/volumes"
	"github.com/sliceshift/sliceshift/volumes/internal/volumestest"
)

// actions returns all possible events, in any order.
func (w *world) actions() map[string]func(*rapid.T) {
	anySnap := func(t *rapid.T) *snap {
		p := w.sides[rapid.IntRange(0, 1).Draw(t, "side")]
		return p.snaps[volumestest.AnyOf(t, p.snaps)]
	}
	return w.Actions(map[string]func(*rapid.T){
		"binder": func(*rapid.T) { w.World.Act() }, "provisioner": func(*rapid.T) { w.provisioner() },
		"controller": func(*rapid.T) { w.controller() }, "sidecar": func(*rapid.T) { w.sidecar() },
		"the handoff ends": func(t *rapid.T) {
			if w.Runs == 1-w.Giver {
				if write := w.Drop(t); write != nil {
					w.Send(t, *write)
				}
			}
		},
		"a driver says that it is ready": func(t *rapid.T) {
			if s := anySnap(t); s != nil {
				s.Ready, s.ResourceVersion = true, w.Next()
			}
		},
		"somebody deletes a VolumeSnapshot": func(t *rapid.T) {
			if s := anySnap(t); s != nil && rapid.IntRange(0, 5).Draw(t, "deletes") == 0 {
				s.Terminating, s.ResourceVersion = true, w.Next()
			}
		},
	})
}

// Check verifies the invariants of World and of snapshots: no snapshot is deleted twice, and one that counts
// has everything that the ordinal has written.
func (w *world) Check(t volumestest.Failer) {
	w.World.Check(t)
	for handle, s := range w.shots {
		if s.deleted > 1 {
			t.Fatalf("snapshot %s is deleted %d times", handle, s.deleted)
		}
	}
	v := view{volumes.HandingOf(w.Pair())}
	if w.Runs != volumestest.Nowhere || v.Taken() || !v.counts() {
		return
	}
	if s := w.shots[w.Record.Snapshot.Handle]; s == nil || s.content != w.Written || s.deleted > 0 {
		t.Fatalf("I3: snapshot %s counts, and has %+v; the ordinal has written %d", w.Record.Snapshot.Handle, s, w.Written)
	}
}

// TestSnapshotMachine: whatever arrives late, is deleted or is reversed, an ordinal starts on its data. At no
// time can two volumes be mounted under its name. No snapshot counts that was taken while a pod could still
// write. No snapshot is deleted before it was restored, or twice.
func TestSnapshotMachine(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld()
		w.waits, w.ignorant = rapid.Bool().Draw(t, "waits"), rapid.IntRange(0, 4).Draw(t, "ignorant") == 0
		t.Repeat(w.actions())
	})
}

// TestSnapshotArrives: if nothing fails for long, a move completes, after any earlier events.
func TestSnapshotArrives(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld()
		w.waits = rapid.Bool().Draw(t, "waits")
		t.Repeat(w.actions())
		w.Epoch, w.OnTheirWay = w.Epoch+1, nil
		w.Arrives(t)
	})
}

// ends completes the handoff of an ordinal that runs.
func (w *world) ends(t *rapid.T) {
	for w.Record.Number > 0 {
		if write := w.Drop(t); write != nil {
			w.Around.Arrive(t, *write)
		}
	}
}

// TestSnapshotLeavesNothing: without failures nothing remains of a snapshot, no object and nothing in the
// storage. This holds whether the move completes, is reversed before, or comes back.
func TestSnapshotLeavesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld()
		w.waits = rapid.Bool().Draw(t, "waits")
		for range rapid.IntRange(0, 60).Draw(t, "steps") {
			w.Step(t)
		}
		if w.Runs != volumestest.Nowhere {
			w.ends(t)
		}
		w.Turn()
		w.Arrives(t)
		w.ends(t)
		for range 5 {
			w.controller()
			w.sidecar()
		}
		for _, p := range w.sides {
			if len(p.snaps)+len(p.contents)+len(p.holders) > 0 {
				t.Fatalf("left: %+v %+v %+v", p.snaps, p.contents, p.holders)
			}
			for name, claim := range p.Incoming {
				if claim.Volume == "" {
					t.Fatalf("claim %s is left, and waits for a volume", name)
				}
			}
		}
		for handle, s := range w.shots {
			if s.deleted != 1 {
				t.Fatalf("snapshot %s was deleted %d times", handle, s.deleted)
			}
		}
	})
}
