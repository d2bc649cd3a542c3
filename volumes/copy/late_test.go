package copy

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/sliceshift/sliceshift/volumes"
	"github.com/sliceshift/sliceshift/volumes/internal/volumestest"
)

// TestLateOutgoingClaim: an outgoing claim that is created late, for a volume that was copied before, is
// deleted: nothing would ever be bound to it.
func TestLateOutgoingClaim(t *testing.T) {
	pair := untilIn(t, attached, introduced).Pair()
	late := func(change func(*volumes.Claim)) volumes.Verdict {
		return transfer(pair, func(c *volumes.Copying) {
			c.Outgoing.Claim.Volume, c.Outgoing.Claim.Phase = "of-before", corev1.ClaimLost
			change(&c.Outgoing.Claim)
		})
	}
	if a := late(func(*volumes.Claim) {}).Action; a == nil || a.Verb != volumes.DeleteLost || !a.AtGiver || a.UID != pair.Copy.Outgoing.Claim.UID || a.ResourceVersion != pair.Copy.Outgoing.Claim.ResourceVersion {
		t.Errorf("got %+v", a)
	}
	if got := late(func(c *volumes.Claim) { c.Terminating = true }); got.Action != nil || !strings.Contains(got.Waits, "is deleted") {
		t.Errorf("it goes: %+v", got)
	}
	if got := late(func(c *volumes.Claim) { c.Ours = false }); got.Action != nil {
		t.Errorf("it is somebody's: %+v", got)
	}
}

// TestTurnAtTheTakeOver: if the move is reversed while the copy is parked before its take-over, the ordinal
// goes back to its former volume. A take-over that was decided before is refused once the copy carries the new
// fence. One that arrives before that succeeds: the ordinal, which has not started there, goes back by a new
// copy, and its former volume is kept.
func TestTurnAtTheTakeOver(t *testing.T) {
	const never, early, late = "it is not written", "it arrives at once", "it arrives once the copy is marked"
	for _, arrives := range []string{never, early, late} {
		t.Run(arrives, func(t *testing.T) {
			w, takeOver := turned(t)
			switch arrives {
			case early:
				w.Arrive(t, takeOver)
			case late:
				w.marks(t, takeOver.Volume)
				w.Arrive(t, takeOver)
			}
			w.Arrives(t)
			own, again := w.Places[0].Own(), arrives == early
			if w.Runs != 0 || (own.Name == "pv") == again || (w.Record.Giver == "1") != again {
				t.Fatalf("it runs at side %d, on %+v: %+v", w.Runs, own, w.Record)
			}
			if kept := w.Places[0].Disks["pv"]; kept.Content != w.Written || kept.Policy != corev1.PersistentVolumeReclaimRetain {
				t.Fatalf("what it had is %+v", kept)
			}
		})
	}
}

// marks performs the first steps of the way back, until a volume carries the new fence. Nothing is pointed back
// before that.
func (w *world) marks(t *testing.T, volume string) {
	t.Helper()
	for range 10 {
		write := w.Decide(t)
		if write == nil || write.Verb != volumes.Secure {
			t.Fatalf("the way back begins with %+v", write)
		}
		if w.Arrive(t, *write); write.Volume == volume {
			return
		}
	}
	t.Fatalf("volume %s is not marked", volume)
}

// turned returns a world that was reversed when a copy was about to be taken over, and that write.
func turned(t *testing.T) (*world, volumestest.Late) {
	t.Helper()
	w := newWorld()
	for range 400 {
		pair := w.Pair()
		action := (Copy{}).Transfer(pair).Action
		if w.Runs == volumestest.Nowhere && pair.Copy.Incoming.Parked() && action != nil && action.Verb == volumes.TakeOver {
			write := w.Write(*action)
			w.Turn()
			return w, write
		}
		w.Step(t)
	}
	t.Fatal("no copy is taken over")
	return nil, volumestest.Late{}
}

// TestTurnedInTheLastPass: if the move is reversed in the last pass, both movers are deleted before the volume
// is pointed back. The sender has it mounted, and the receiver would be left over.
func TestTurnedInTheLastPass(t *testing.T) {
	w := untilIn(t, attached, introduced)
	w.Turn()
	pair := w.Pair()
	seen := *pair.Copy
	pair.Copy = &seen
	for _, role := range []volumes.Role{volumes.RoleSender, volumes.RoleReceiver} {
		m := map[volumes.Role]*volumes.Mover{volumes.RoleSender: &seen.Sender, volumes.RoleReceiver: &seen.Receiver}[role]
		got := (Copy{}).Transfer(pair).Action
		if got == nil || got.Verb != volumes.DeleteMover || got.UID != m.UID {
			t.Fatalf("with its %s: %+v", role, got)
		}
		*m = volumes.Mover{}
	}
	if got := (Copy{}).Transfer(pair).Action; got == nil || got.Verb == volumes.DeleteMover {
		t.Errorf("with no mover: %+v", got)
	}
}
