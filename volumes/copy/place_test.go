package copy

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/volumes"
)

// unplaced returns the pair of a claim that is copied only after the stop. Its new claim waits for a pod, and
// another claim of the ordinal waits for its volume.
func unplaced(t *testing.T, changes ...func(*volumes.Copying)) volumes.Pair {
	t.Helper()
	pair := until(t, func(w *world) bool { return w.Pair().Copy.Incoming.Claim.Found && w.Runs == w.Giver }).Pair()
	seen := *pair.Copy
	seen.Asked.Warm, seen.WaitsForPod, seen.Beside.Awaited = api.CopyWarmNone, true, true
	seen.Incoming.Claim.Phase, seen.Incoming.Claim.Volume, seen.Incoming.Volume = corev1.ClaimPending, "", volumes.Volume{}
	seen.Receiver, seen.Sender, seen.Warm, seen.Entrance = volumes.Mover{}, volumes.Mover{}, volumes.Mover{}, volumes.Entrance{}
	seen.Attempt.Filling = false
	for _, change := range changes {
		change(&seen)
	}
	pair.Copy = &seen
	return pair
}

// receives sets a receiver that was created for such a claim.
func receives(change func(*volumes.Mover)) func(*volumes.Copying) {
	return func(c *volumes.Copying) {
		c.Receiver = volumes.Mover{Found: true, UID: "receiver", ResourceVersion: "1", Attempt: c.Attempt.Number, Pass: c.Attempt.Warm.Passes + 1, Warm: true, Fence: c.Attempt.Begun, Made: c.Now}
		change(&c.Receiver)
	}
}

// TestPlace: a claim for which another one waits gets its volume while the ordinal runs, by a receiver without
// a peer. Nothing else is created, and nothing is left when the volume exists.
func TestPlace(t *testing.T) {
	verb := func(want volumes.Verb, pair volumes.Pair) *volumes.Action {
		t.Helper()
		got := Copy{}.Ahead(pair, volumes.Warm)
		if got.Action == nil || got.Action.Verb != want {
			t.Fatalf("want %s, got %+v", want, got)
		}
		return got.Action
	}
	made := verb(volumes.CreateMover, unplaced(t))
	if !made.Copy.Warm || !made.Copy.Fresh || made.Copy.Role != volumes.RoleReceiver {
		t.Errorf("made: %+v", made.Copy)
	}
	starts := receives(func(*volumes.Mover) {})
	if got := (Copy{}).Ahead(unplaced(t, starts), volumes.Warm); !strings.Contains(got.Waits, "has created its key; another claim of the ordinal waits for the volume") {
		t.Errorf("while it starts: %+v", got)
	}
	there := func(c *volumes.Copying) {
		c.Incoming.Claim.Phase, c.Incoming.Claim.Volume = corev1.ClaimBound, "new"
		ref := c.Incoming.Ref
		ref.UID = c.Incoming.Claim.UID
		c.Incoming.Volume = volumes.Volume{Found: true, Name: "new", Handle: "d/new", ClaimRef: ref}
	}
	verb(volumes.DeleteMover, unplaced(t, starts, there))
	if got := (Copy{}).Ahead(unplaced(t, there), volumes.Warm); !got.Done() {
		t.Errorf("once it is there: %+v", got)
	}
	for name, change := range map[string]func(*volumes.Copying){
		"nobody waits for it":      func(c *volumes.Copying) { c.Beside.Awaited = false },
		"its class waits for none": func(c *volumes.Copying) { c.WaitsForPod = false },
	} {
		if got := (Copy{}).Ahead(unplaced(t, change), volumes.Warm); !got.Done() {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// TestPlaceLater: if the claim itself is copied later, only its volume is created before. An ordinal that goes
// back gets none.
func TestPlaceLater(t *testing.T) {
	later := func(c *volumes.Copying) { c.Asked.Warm = api.CopyWarmAuto }
	if got := (Copy{}).Ahead(unplaced(t, later), volumes.Placed); got.Action == nil || got.Action.Verb != volumes.CreateMover || got.Action.Copy.Role != volumes.RoleReceiver {
		t.Errorf("got %+v", got)
	}
	for name, change := range map[string]func(*volumes.Copying){
		"nobody waits for it": func(c *volumes.Copying) { c.Beside.Awaited = false },
		"it goes back":        func(c *volumes.Copying) { c.Back = true },
	} {
		if got := (Copy{}).Ahead(unplaced(t, later, change), volumes.Placed); !got.Done() {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// TestPlacedAfterTrouble: once the volume exists, the trouble of its creation is cleared. Its first pass,
// later, is not reported as late since then.
func TestPlacedAfterTrouble(t *testing.T) {
	trouble := func(c *volumes.Copying) {
		c.Asked.Warm = api.CopyWarmAuto
		c.Attempt.Warm.Trouble, c.Attempt.Warm.TroubleSince = "no node has room", metav1.NewTime(c.Now.Add(-unmounted))
	}
	there := func(c *volumes.Copying) { c.Beside.Awaited = false }
	got := Copy{}.Ahead(unplaced(t, trouble, there), volumes.Placed).Attempt
	if got == nil || got.Warm.Trouble != "" || !got.Warm.TroubleSince.IsZero() {
		t.Fatalf("recorded is %+v", got)
	}
	if got := (Copy{}).Ahead(unplaced(t, trouble, there, func(c *volumes.Copying) { c.Attempt = *got }), volumes.Placed); !got.Done() {
		t.Errorf("then: %+v", got)
	}
}

// TestPlaceFails: an obstacle to the creation of such a volume is reported, and nothing is stopped. Existing
// data on the volume stay unchanged.
func TestPlaceFails(t *testing.T) {
	late := func(c *volumes.Copying) {
		receives(func(m *volumes.Mover) { m.Trouble = "no node has room" })(c)
		c.Now = c.Now.Add(anew - time.Second)
		c.Pod = volumes.CopyPod{Found: true, Ready: true, Node: "node"}
	}
	recorded := Copy{}.Ahead(unplaced(t, late), volumes.Warm)
	if recorded.Attempt == nil || !strings.Contains(recorded.Attempt.Warm.Trouble, "no node has room") {
		t.Fatalf("nothing is recorded: %+v", recorded)
	}
	got := Copy{}.Ahead(unplaced(t, late, func(c *volumes.Copying) { c.Attempt = *recorded.Attempt }), volumes.Warm)
	if got.Hold == nil || got.Hold.Reason != volumes.ReasonCopyStuck || !strings.Contains(got.Hold.Message, "Another claim of the ordinal waits for it") || !strings.Contains(got.Hold.Message, "no node has room") {
		t.Errorf("a person is told: %+v", got)
	}
	holds := receives(func(m *volumes.Mover) { m.Ended, m.Result.Holds = true, "ledger" })
	if got := (Copy{}).Ahead(unplaced(t, holds), volumes.Warm); got.Attempt == nil || got.Attempt.Holds == "" {
		t.Fatalf("what it holds is not recorded: %+v", got)
	}
	torn := func(c *volumes.Copying) {
		c.Attempt.Torn = api.CopyTorn{Times: 1, Attempt: c.Attempt.Number, Time: metav1.NewTime(c.Now)}
	}
	if got := (Copy{}).Ahead(unplaced(t, torn), volumes.Warm); got.Done() || got.Action != nil && got.Action.Verb == volumes.CreateMover {
		t.Errorf("a receiver is made for a volume of a disk that has failed: %+v", got)
	}
	if got := (Copy{}).Ahead(unplaced(t, func(c *volumes.Copying) { c.Attempt.Dropped = true }), volumes.Warm); got.Attempt == nil && got.Action == nil || got.Action != nil && got.Action.Verb == volumes.CreateMover {
		t.Errorf("a receiver is made for a copy that was dropped: %+v", got)
	}
	if got := (Copy{}).Ahead(unplaced(t, func(c *volumes.Copying) { c.Attempt.Holds = "ledger" }), volumes.Warm); got.Done() || got.Action != nil && got.Action.Verb == volumes.CreateMover {
		t.Errorf("a receiver is made for a volume that holds something: %+v", got)
	}
}
