package copy

import (
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/sliceshift/sliceshift/volumes"
)

// TestNames: the names of a copy's claims are no ordinal's, and no attempt has another one's.
func TestNames(t *testing.T) {
	ordinal := regexp.MustCompile(`-[0-9]+$`)
	seen := map[string]bool{}
	for attempt := range int32(12) {
		for _, ref := range []volumes.Ref{IncomingRef(takerRef, owner, attempt), IncomingRef(giverRef, owner, attempt), IncomingRef(takerRef, "another", attempt)} {
			if ordinal.MatchString(ref.Name) || seen[ref.Namespace+ref.Name] || len(ref.Name) > 63 {
				t.Errorf("%s", ref.Name)
			}
			seen[ref.Namespace+ref.Name] = true
		}
	}
	if out := OutgoingRef(giverRef, owner).Name; ordinal.MatchString(out) || !strings.HasPrefix(out, "sliceshift-out-") {
		t.Errorf("%s", out)
	}
}

// until lets all do as they should until something is so.
func until(t *testing.T, so func(*world) bool) *world {
	t.Helper()
	var found *world
	rapid.Check(t, func(t *rapid.T) {
		if found != nil {
			return
		}
		w := newWorld()
		for range 200 {
			if so(w) {
				found = w
				return
			}
			w.step(t)
		}
	})
	if found == nil {
		t.Fatal("it never comes to that")
	}
	return found
}

// ended is when the receiver and a sender have ended a pass that they made together.
func ended(role Role) func(*world) bool {
	return func(w *world) bool {
		from, to := w.movers[role], w.movers[Receiver]
		return from != nil && from.said() && to.said() && to.Order == Order{from.Order.Pass, from.Key} && (role == Warm || w.movers[Warm] == nil)
	}
}

// unsealed is the world before the seals were recorded.
func unsealed(w *world) View {
	v := w.view()
	v.Sealed = Seals{}
	return v
}

// TestLastPass: what is recorded is what both have shown, and what differs is gone through again, three times.
func TestLastPass(t *testing.T) {
	v := unsealed(until(t, ended(Last)))
	if got := Transfer(v); got.Action == nil || got.Action.Verb != Record || got.Action.Seals.Root != v.Last.Result.Root || got.Action.Seals.Released != v.Released {
		t.Errorf("got %+v", got)
	}
	v.Receiver.Result.Root = "another"
	if got := Transfer(v); got.Action == nil || got.Action.Verb != Tell || got.Action.Order.Pass != v.Receiver.Order.Pass+1 {
		t.Errorf("once: %+v", got)
	}
	v.Last.Result.Nth, v.Last.Result.Differs = mostPasses, "etc/passwd"
	if got := Transfer(v); got.Blocked == nil || got.Blocked.Reason != ReasonCopyDiffers || !strings.Contains(got.Blocked.Message, "etc/passwd") {
		t.Errorf("three times: %+v", got)
	}
	v.Last.Result.Root, v.Receiver.Result.Root = "", ""
	if got := Transfer(v); got.Action != nil && got.Action.Verb == Record {
		t.Error("no root at all is taken for the same")
	}
}

// TestTorn: a volume that cannot be read back is not tried again; another one is begun when no mover has it.
func TestTorn(t *testing.T) {
	v := unsealed(until(t, ended(Last)))
	v.Receiver.Result.Torn = "read /data/a: input/output error"
	if got := Transfer(v); got.Action == nil || got.Action.Verb != DeleteMover {
		t.Errorf("got %+v", got)
	}
	v.Last, v.Warm = Mover{}, Mover{}
	v.Receiver.Terminating = true
	if got := Transfer(v); got.Waits == "" {
		t.Errorf("got %+v", got)
	}
}

// TestDowntime: nothing is stopped as long as it would take longer than is allowed, or before one pass has compared all.
func TestDowntime(t *testing.T) {
	v := until(t, ended(Warm)).view()
	v.Stays = true // it was stopped at once
	v.Warm.Result.Downtime, v.Budget = 40, 30
	if got := Prepare(v); got.Action == nil || got.Action.Verb != Tell {
		t.Errorf("too long: %+v", got)
	}
	if v.Budget = 40; !Prepare(v).Done() {
		t.Errorf("as long as it may: %+v", Prepare(v))
	}
	v.Warm.Result.Compared = false
	if got := Prepare(v); got.Action == nil || got.Action.Verb != Tell {
		t.Errorf("not compared: %+v", got)
	}
	v.Stays = false
	if got := Prepare(v); got.Action == nil || got.Action.Verb != DeleteMover || got.Action.Role != Warm {
		t.Errorf("the application is about to stop, and the sender stays: %+v", got)
	}
}

// TestTakenWithoutASeal: what somebody else has pointed at the ordinal's claim is not started on.
func TestTakenWithoutASeal(t *testing.T) {
	v := unsealed(until(t, ended(Last)))
	v.Incoming.Volume.ClaimRef = takerRef
	if got := Transfer(v); got.Blocked == nil || got.Blocked.Reason != ReasonCopyUnsealed {
		t.Errorf("got %+v", got)
	}
	if got := Back(v); got.Blocked == nil || got.Blocked.Reason != ReasonNoWayBack {
		t.Errorf("got %+v", got)
	}
}

// TestMoversAreNotHealthy: no budget counts on a mover.
func TestMoversAreNotHealthy(t *testing.T) {
	if Healthy("mover", true, "another", "mover") || !Healthy("replica", true, "mover") || Healthy("replica", false) {
		t.Error("a mover is counted, or a replica is not")
	}
}
