package copy

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/sliceshift/sliceshift/volumes"
	"github.com/sliceshift/sliceshift/volumes/internal/volumestest"
)

// checkTheirs checks that another user's data on a disk that a claim got remain, together with the disk.
func (w *world) checkTheirs(t volumestest.Failer) {
	if !w.used {
		return
	}
	there := 0
	for _, p := range w.Places {
		for name, d := range p.Disks {
			if d.Chosen && d.Content != theirs {
				t.Fatalf("volume %s, which is not new, was written to: %d", name, d.Content)
			}
			if d.Chosen {
				there++
			}
		}
	}
	if there < len(w.made) {
		t.Fatalf("of %d volumes that were there before %d are left", len(w.made), there)
	}
}

// TestCopyIntoWhatIsUsed: in every sequence of events, a volume that existed before is neither written to nor
// removed. The ordinal runs where it was, or can go back.
func TestCopyIntoWhatIsUsed(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld()
		w.used = true
		t.Repeat(w.actions())
		if w.Runs == 1 {
			t.Fatal("it runs on what somebody else has")
		}
	})
}

// TestNotNew: the user is shown what the volume holds, and how to release it so that it stays; then another
// attempt begins.
func TestNotNew(t *testing.T) {
	w := newWorld()
	w.used = true
	var stuck *volumes.Reason
	for range 100 {
		if stuck = (Copy{}).Ahead(w.Pair(), volumes.Warm).Hold; stuck != nil {
			break
		}
		w.Step(t)
	}
	if stuck == nil || stuck.Reason != volumes.ReasonCopyNotEmpty || w.Runs != w.Giver || w.Record.Filling {
		t.Fatalf("%+v: %+v", stuck, w.Record)
	}
	in := w.Pair().Copy.Incoming
	for _, part := range []string{`"theirs"`, in.Volume.Name, in.Ref.Name, "Nothing was written"} {
		if !strings.Contains(stuck.Message, part) {
			t.Errorf("%q does not tell %s", stuck.Message, part)
		}
	}
	for _, part := range []string{"Retain", "delete pvc", in.Ref.Name} {
		if !strings.Contains(stuck.Remedy, part) {
			t.Errorf("%q does not tell %s", stuck.Remedy, part)
		}
	}
	if w.Pair().Copy.Receiver.Found {
		t.Error("its mover is still there")
	}
	place := w.Places[1-w.Giver]
	place.Disks[in.Volume.Name].Policy = "Retain"
	delete(place.Incoming, in.Ref.Name)
	before := w.Record.Number
	w.used = false
	for range 20 {
		w.Step(t)
	}
	if w.Record.Number == before || place.Disks[in.Volume.Name].Content != theirs {
		t.Errorf("no other attempt has begun: %+v", w.Record)
	}
}

// TestFresh: a receiver checks for existing data until a mover was allowed to write, and never after that: it
// would find the copy itself.
func TestFresh(t *testing.T) {
	w := newWorld()
	for range 300 {
		verdict := (Copy{}).Ahead(w.Pair(), volumes.Warm)
		if w.Runs != w.Giver {
			verdict = (Copy{}).Transfer(w.Pair())
		}
		switch action := verdict.Action; {
		case action == nil:
		case action.Verb == volumes.CreateMover && action.Copy.Fresh != (action.Copy.Role == volumes.RoleReceiver && !w.Record.Filling):
			t.Errorf("%s is made, fresh %t, and filling is %t", action.Copy.Role, action.Copy.Fresh, w.Record.Filling)
		case action.Verb == volumes.TellMover && !w.Record.Filling:
			t.Error("a mover is told of the other one before it is recorded that the volume is filled")
		}
		w.Step(t)
	}
	if w.Runs != 1-w.Giver || !w.Record.Filling {
		t.Errorf("it has not arrived: %+v", w.Record)
	}
}

// TestClaimLostBetweenPasses: once something was written, the claim is not created again under its name. The
// volume of another claim would not be inspected.
func TestClaimLostBetweenPasses(t *testing.T) {
	w := newWorld()
	for !w.Record.Filling {
		w.Step(t)
	}
	before := w.Record.Number
	w.movers, w.Places[1-w.Giver].Incoming, w.used = map[string]*pod{}, map[string]volumes.Claim{}, true
	w.made = map[string]bool{} // earlier claims do not count
	for n := range 60 {
		if w.Step(t); n > 0 && w.Record.Number == before && w.Record.Filling && len(w.Places[1-w.Giver].Incoming) > 0 {
			t.Fatalf("a claim is made for an attempt that was written to: %+v", w.Record)
		}
		w.Check(t)
	}
	if w.Record.Number == before {
		t.Errorf("no other attempt has begun: %+v", w.Record)
	}
}

// TestHoldsItsOwn: a receiver that was requested before anything was written, and starts late, finds the copy.
// It is recreated.
func TestHoldsItsOwn(t *testing.T) {
	w := untilIn(t, attached, introduced)
	var name string
	for _, mover := range w.names() {
		if m := w.movers[mover]; m.role == volumes.RoleReceiver {
			name, m.Ended, m.Key, m.Result = mover, true, "", volumes.MoverResult{Holds: "data"}
		}
	}
	for range 100 {
		if w.Step(t); w.Record.Holds != "" {
			t.Fatalf("its own copy is taken for somebody else's: %+v", w.Record)
		}
	}
	if w.movers[name] != nil && w.movers[name].Result.Holds != "" || w.Runs != 1 {
		t.Errorf("it does not go on: %+v", w.Record)
	}
}
