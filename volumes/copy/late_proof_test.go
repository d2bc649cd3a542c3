package copy

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/volumes"
)

// TestProofDiffers: if the volume that was left has another root than the copy, both are recorded, with the first path
// and part. The prover ends, the volume is parked and kept, and only the user's acceptance goes on.
func TestProofDiffers(t *testing.T) {
	w := owing(t)
	w.proceed(t, func() bool { return w.owedPair().Copy.Prover.Found })
	from := w.Places[w.from()]
	from.Disks[from.Claim.Volume].Content = 77 // its disk returns something else than when it was copied
	w.Written, w.Places[1].Own().Content = 5, 5
	for _, m := range w.movers {
		if m.role == volumes.RoleProver {
			m.Ended, m.Result = true, volumes.MoverResult{Done: true, Alone: true, Root: "77", Differs: "base/1 (bytes 0 to 1048576 of 9)"}
		}
	}
	w.proceed(t, func() bool { return w.owed.Seal.Proof.Root != "" })
	proof := w.owed.Seal.Proof
	if proof.Root != "77" || proof.From != w.owed.Seal.From || proof.Differs == "" || proof.ReadTime.IsZero() || w.owed.Seal.Proven() || !w.owed.OwesProof() {
		t.Fatalf("%+v", proof)
	}
	w.proceed(t, func() bool { return (Copy{}).Ahead(w.owedPair(), volumes.Proven).Hold != nil })
	got := (Copy{}).Ahead(w.owedPair(), volumes.Proven).Hold
	if got.Reason != volumes.ReasonCopyProofDiffers || !got.Stalled || !strings.Contains(got.Message, "base/1") || !strings.Contains(got.Message, "root is 77, and the copy had 1") ||
		!strings.Contains(got.Remedy, "accept=ORDINAL") || !strings.Contains(got.Remedy, "all later writes are lost") {
		t.Errorf("got %+v", got)
	}
	if w.Step(t); !w.parked() || w.Runs != 1 {
		t.Errorf("the volume that was left is not parked: %+v", from)
	}
	owed := []api.HandoffVolume{{ClaimTemplate: "data", Name: "pv", Copy: *w.owed}}
	if said := Owed(3, owed); said.Reason != got.Reason || !strings.HasPrefix(said.Message, "ordinal 3, claim template data: ") {
		t.Errorf("got %+v", said)
	}
	w.accepted = true
	w.proceed(t, func() bool { return w.owed == nil })
}

// TestProofUnread: a volume that cannot be read is read again by a new prover, with pauses that grow up to an hour, and
// the user is told.
func TestProofUnread(t *testing.T) {
	w := owing(t)
	for tries := int32(1); tries <= 3; tries++ {
		w.proceed(t, func() bool {
			for _, m := range w.movers {
				if m.role == volumes.RoleProver && m.Pass == tries {
					m.Ended, m.Result = true, volumes.MoverResult{Message: "read /volume/x: input/output error"}
				}
			}
			return w.owed.Seal.Proof.Tries == tries
		})
		said := Owed(3, []api.HandoffVolume{{ClaimTemplate: "data", Name: "pv", Copy: *w.owed}})
		if said.Reason != volumes.ReasonCopyProofUnread || !said.Stalled || !strings.Contains(said.Message, "input/output error") || !strings.Contains(said.Message, "volume pv") {
			t.Errorf("got %+v", said)
		}
		begin := w.Now
		w.proceed(t, func() bool {
			w.Now = w.Now.Add(5 * time.Second)
			m := w.owedPair().Copy.Prover
			return m.Found && m.Pass == tries+1
		})
		if took := w.Now.Sub(begin); took < growing(tries) || took > growing(tries)+time.Minute {
			t.Errorf("the next try begins after %s, not %s", took, growing(tries))
		}
	}
	w.proceed(t, func() bool { return w.owed == nil })
}

// TestProofOfAnother: a report counts only from a mover that has read its volume alone and whole, under the present
// fence, and for the disk that was left. The root of the copy itself proves nothing.
func TestProofOfAnother(t *testing.T) {
	w := owing(t)
	for !w.owedPair().Copy.Prover.Ended {
		if write := w.Decide(t); write != nil {
			w.Arrive(t, *write)
		}
		w.Tick()
	}
	pair := w.owedPair()
	of := func(change func(*volumes.Pair, *volumes.Copying)) volumes.Verdict {
		other, seen := pair, *pair.Copy
		other.Copy = &seen
		change(&other, &seen)
		return (Copy{}).Ahead(other, volumes.Proven)
	}
	if got := of(func(*volumes.Pair, *volumes.Copying) {}); got.Attempt == nil || !got.Attempt.Seal.Proven() || got.Attempt.Seal.Proof.From == got.Attempt.Seal.To {
		t.Fatalf("got %+v", got)
	}
	for name, change := range map[string]func(*volumes.Pair, *volumes.Copying){
		"not alone":       func(_ *volumes.Pair, c *volumes.Copying) { c.Prover.Result.Alone = false },
		"not done":        func(_ *volumes.Pair, c *volumes.Copying) { c.Prover.Result.Done = false },
		"no root":         func(_ *volumes.Pair, c *volumes.Copying) { c.Prover.Result.Root = "" },
		"another attempt": func(_ *volumes.Pair, c *volumes.Copying) { c.Prover.Attempt++ },
		"an earlier try":  func(_ *volumes.Pair, c *volumes.Copying) { c.Attempt.Seal.Proof.Tries = 1 },
		"an older fence":  func(_ *volumes.Pair, c *volumes.Copying) { c.Prover.Fence = "migration.0" },
		"foreign":         func(_ *volumes.Pair, c *volumes.Copying) { c.Prover.Foreign = true },
		"not ended":       func(_ *volumes.Pair, c *volumes.Copying) { c.Prover.Ended = false },
		"given back":      func(p *volumes.Pair, _ *volumes.Copying) { p.Giver.Volume.Released = "migration.9" },
		"another disk":    func(p *volumes.Pair, _ *volumes.Copying) { p.Giver.Volume.Handle = "d/other" },
		"the copy's disk": func(p *volumes.Pair, c *volumes.Copying) {
			p.Giver.Volume.Handle, c.Attempt.Seal.From = "d/same", volumes.Disk("d/same")
			c.Attempt.Seal.To = c.Attempt.Seal.From
		},
	} {
		if got := of(change); got.Attempt != nil && got.Attempt.Seal.Proven() {
			t.Errorf("%s: it proves the copy: %+v", name, got.Attempt.Seal)
		}
	}
	self := pair.Copy.Attempt.Seal
	self.Proof = api.CopyProof{Root: self.Root, From: self.To}
	if self.Proven() {
		t.Error("a root proves itself")
	}
}

// TestUnprovable: a volume that has changed since it was copied does not prove the copy. The user is told why.
func TestUnprovable(t *testing.T) {
	for want, change := range map[string]func(*volumes.Volume){
		"does not exist any more": func(v *volumes.Volume) { *v = volumes.Volume{} },
		"is another disk":         func(v *volumes.Volume) { v.Handle = "d/other" },
		"given back to its":       func(v *volumes.Volume) { v.Released = "" },
		"a pod may have written":  func(v *volumes.Volume) { v.ClaimRef = volumes.Ref{Namespace: "east", Name: "data-web-0"} },
	} {
		w := owing(t)
		pair := w.owedPair()
		change(&pair.Giver.Volume)
		got := (Copy{}).Ahead(pair, volumes.Proven)
		if got.Attempt == nil || !strings.Contains(got.Attempt.Seal.Proof.Trouble, want) || got.Attempt.Seal.Proof.Root != "" {
			t.Fatalf("%s: %+v", want, got)
		}
		said := Owed(0, []api.HandoffVolume{{ClaimTemplate: "data", Copy: *got.Attempt}})
		if said.Reason != volumes.ReasonCopyUnprovable || !said.Stalled {
			t.Errorf("%s: %+v", want, said)
		}
		pair.Copy.Attempt = *got.Attempt
		pair.Copy.Asked.Accepted = true
		if got := (Copy{}).Ahead(pair, volumes.Proven); got.Attempt == nil || got.Attempt.Seal.Proof.AcceptedTime.IsZero() {
			t.Errorf("%s: %+v", want, got)
		}
	}
}

// TestProvableAgain: a volume that was not seen for a time, and has not changed, is read and no longer reported.
func TestProvableAgain(t *testing.T) {
	pair := owing(t).owedPair()
	pair.Copy.Attempt.Seal.Proof.Trouble = "the volume that the ordinal has left does not exist any more, or nothing names it"
	got := (Copy{}).Ahead(pair, volumes.Proven)
	if got.Attempt == nil {
		t.Fatalf("%+v", got)
	}
	if said := Owed(0, []api.HandoffVolume{{ClaimTemplate: "data", Copy: *got.Attempt}}); said.Reason != api.ReasonCopyProofPending || said.Stalled {
		t.Errorf("%+v", said)
	}
	pair.Copy.Attempt = *got.Attempt
	if again := (Copy{}).Ahead(pair, volumes.Proven); again.Attempt != nil || again.Action == nil {
		t.Errorf("it is not read: %+v", again)
	}
}

// TestLaterOfASnapshot: what the sender of a restored snapshot has seen of its files does not count for the volume, so it
// names no copy. All other movers do.
func TestLaterOfASnapshot(t *testing.T) {
	var v view
	v.Asked.Verify, v.warming, v.Incoming.Ref.Name = api.CopyVerifyLater, true, "in-1"
	name := func(role volumes.Role) string { return v.create(role).Action.Copy.Copy }
	if name(volumes.RoleWarm) != "in-1" || name(volumes.RoleReceiver) != "in-1" {
		t.Errorf("beside the pod: %q and %q", name(volumes.RoleWarm), name(volumes.RoleReceiver))
	}
	v.Attempt.Warm.By = api.CopyWarmSnapshot
	if name(volumes.RoleWarm) != "" || name(volumes.RoleReceiver) != "in-1" {
		t.Errorf("of a snapshot: %q and %q", name(volumes.RoleWarm), name(volumes.RoleReceiver))
	}
	if v.warming = false; name(volumes.RoleSender) != "in-1" {
		t.Errorf("the last pass: %q", name(volumes.RoleSender))
	}
}

// TestAcceptedTooEarly: an acceptance counts only once something is known, so no copy goes unproven for it.
func TestAcceptedTooEarly(t *testing.T) {
	w := owing(t)
	w.accepted = true
	w.proceed(t, func() bool { return w.owed.Seal.Proof.Root != "" })
	if !w.owed.Seal.Proven() || !w.owed.Seal.Proof.AcceptedTime.IsZero() {
		t.Errorf("%+v", w.owed.Seal.Proof)
	}
}

// endProver ends the prover with a result.
func (w *proofs) endProver(result volumes.MoverResult) {
	for _, m := range w.movers {
		if m.role == volumes.RoleProver && !m.Ended {
			m.Ended, m.EndedAt, m.Result = true, w.Now, result
		}
	}
}

// TestAcceptedForAnother: an acceptance counts only for what was reported before it. That of an earlier copy of the ordinal
// does not hide that this one differs: the message asks to remove it first, and it counts once it is given again.
func TestAcceptedForAnother(t *testing.T) {
	w := owing(t)
	w.accepted = true
	w.proceed(t, func() bool { return w.owedPair().Copy.Prover.Found })
	w.endProver(volumes.MoverResult{Done: true, Alone: true, Root: "77", Differs: "base/1"})
	w.proceed(t, func() bool { return w.owed.Seal.Proof.Root != "" })
	for range 20 {
		w.Step(t)
	}
	if w.owed == nil || !w.owed.OwesProof() || !w.parked() {
		t.Fatalf("it is accepted: %+v", w.owed)
	}
	remedy := func() string { return Owed(3, []api.HandoffVolume{{ClaimTemplate: "data", Copy: *w.owed}}).Remedy }
	if held := (Copy{}).Ahead(w.owedPair(), volumes.Proven).Hold; held == nil || held.Reason != volumes.ReasonCopyProofDiffers || !strings.Contains(held.Remedy, "first remove the ordinal") || !strings.Contains(remedy(), "first remove the ordinal") {
		t.Errorf("it says %+v", held)
	}
	w.accepted = false
	w.proceed(t, func() bool { return !w.owed.Seal.Proof.AcceptedBefore })
	if !w.owed.OwesProof() || strings.Contains(remedy(), "first remove") {
		t.Errorf("%s: %+v", remedy(), w.owed.Seal.Proof)
	}
	w.accepted = true
	w.proceed(t, func() bool { return w.owed == nil })
}

// TestAcceptedForAnotherAndUnread: the same if a mover fails, or if the volume has changed. Another mover reads it all the
// same, and the copy is proven.
func TestAcceptedForAnotherAndUnread(t *testing.T) {
	w := owing(t)
	w.accepted = true
	w.proceed(t, func() bool { return w.owedPair().Copy.Prover.Found })
	w.endProver(volumes.MoverResult{Message: "the pod was evicted"})
	w.proceed(t, func() bool { return w.owed.Seal.Proof.Tries == 1 })
	w.proceed(t, func() bool {
		w.Now = w.Now.Add(5 * time.Second)
		return w.owed == nil || w.owed.Seal.Proof.Root != "" || !w.owed.OwesProof()
	})
	if w.owed == nil || !w.owed.Seal.Proven() || !w.owed.Seal.Proof.AcceptedTime.IsZero() {
		t.Errorf("%+v", w.owed)
	}
	w = owing(t)
	w.accepted = true
	pair := w.owedPair()
	pair.Giver.Volume = volumes.Volume{}
	for range 3 {
		got := (Copy{}).Ahead(pair, volumes.Proven)
		if got.Attempt != nil {
			pair.Copy.Attempt = *got.Attempt
		}
	}
	if proof := pair.Copy.Attempt.Seal.Proof; proof.Trouble == "" || !proof.AcceptedTime.IsZero() {
		t.Errorf("a volume that does not exist: %+v", proof)
	}
}

// TestLaterIsTheDefault: a full read that fits into the downtime budget is made before the start, whatever is requested
// later; one that does not fit is made after it. What the user has set stays.
func TestLaterIsTheDefault(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*view)
		want   api.CopyVerify
	}{
		"small, nothing measured":       {func(v *view) { v.Asked.Needed = gib }, api.CopyVerifyFull},
		"large, nothing measured":       {func(v *view) { v.Asked.Needed = 1000 * gib }, api.CopyVerifyLater},
		"large claim, little in it":     {func(v *view) { v.Asked.Needed, v.Attempt.Warm.Passes, v.Attempt.Warm.Bytes = 1000*gib, 1, gib/10 }, api.CopyVerifyFull},
		"much in it":                    {func(v *view) { v.Attempt.Warm.Passes, v.Attempt.Warm.Bytes = 1, 100*gib }, api.CopyVerifyLater},
		"much, and fast disks":          {func(v *view) { v.Attempt.Warm = api.CopyWarm{Passes: 1, Bytes: 10 * gib, ReadRate: gib} }, api.CopyVerifyFull},
		"Full":                          {func(v *view) { v.Asked.Needed, v.Asked.Verify = 1000*gib, api.CopyVerifyFull }, api.CopyVerifyFull},
		"Changed":                       {func(v *view) { v.Asked.Needed, v.Asked.Verify = 1000*gib, api.CopyVerifyChanged }, api.CopyVerifyChanged},
		"Later, and small":              {func(v *view) { v.Asked.Verify = api.CopyVerifyLater }, api.CopyVerifyLater},
		"large, without warm passes":    {func(v *view) { v.Asked.Needed, v.Asked.Warm = 1000*gib, api.CopyWarmNone }, api.CopyVerifyFull},
		"large, and down anyway":        {func(v *view) { v.Asked.Needed, v.Down = 1000*gib, true }, api.CopyVerifyFull},
		"large, and the sides differed": {func(v *view) { v.Asked.Needed, v.Attempt.Passes = 1000*gib, 1 }, api.CopyVerifyFull},
	} {
		var v view
		tc.change(&v)
		if got := v.verify(); got != tc.want {
			t.Errorf("%s: %s", name, got)
		}
	}
}

// TestProjectLater: with Later only the changes and what has no digests is read while the ordinal is down.
func TestProjectLater(t *testing.T) {
	v := view{Handing: volumes.Handing{Copying: volumes.Copying{Now: time.Unix(1010, 0)}}}
	v.Asked.Verify = api.CopyVerifyLater
	v.Attempt.Warm = api.CopyWarm{Passes: 3, Bytes: 1000 * gib, Known: 999 * gib, ReadRate: gib, Rate: gib / 2, Changes: gib / 10, Seconds: 10, Ended: metav1.NewTime(time.Unix(1010, 0))}
	p := v.project()
	if p.delta.Round(time.Second) != 2*time.Second || p.proof.Round(time.Second) != 2*time.Second || !strings.Contains(p.String(), " were read back by warm passes, and the volume that it leaves is read whole after its start") {
		t.Errorf("%s", p)
	}
	v.Attempt.Warm.Young = 900 * gib
	if p := v.project(); p.proof.Round(time.Second) != 902*time.Second || p.settles(time.Minute) {
		t.Errorf("a large file that is written all the time: %s", p)
	}
	if v.Attempt.Warm.Passes = 2; !v.project().settles(time.Minute) {
		t.Errorf("it may not be written any more: %s", v.project())
	}
	v.Attempt.Warm.Known, v.Attempt.Warm.Young = 0, 0
	if p := v.project(); p.proof != 1000*time.Second {
		t.Errorf("nothing is kept: %s", p)
	}
}

// TestSealLater: the seal has the root of the receiver alone, and says that the proof comes later. If a full read is
// requested meanwhile, it does not count.
func TestSealLater(t *testing.T) {
	v := view{}
	v.Asked.Verify = api.CopyVerifyLater
	v.Sender.Result = volumes.MoverResult{Done: true}
	v.Receiver.Result = volumes.MoverResult{Done: true, Root: "r", Tally: "t", Read: 2, Trusted: 20, Verify: api.CopyVerifyLater}
	got := v.compared().Attempt
	if got == nil || got.Seal.Root != "r" || got.Seal.Tally != "t" || got.Seal.Read != 2 || got.Seal.Trusted != 20 || got.Seal.Verify != api.CopyVerifyLater || got.Seal.Proven() || !got.OwesProof() {
		t.Fatalf("%+v", got)
	}
	if v.Asked.Verify = ""; v.compared().Attempt == nil {
		t.Error("the default does not take it")
	}
	if v.Asked.Verify = api.CopyVerifyFull; v.compared().Attempt != nil {
		t.Error("it counts although a full read is requested")
	}
	full := *got
	full.Seal.Verify = api.CopyVerifyFull
	if full.OwesProof() {
		t.Error("a full read owes nothing")
	}
}

// TestProvesLaterIsSaid: the plan says that an ordinal starts before everything is compared.
func TestProvesLaterIsSaid(t *testing.T) {
	of := func(verify api.CopyVerify, needed int64) []volumes.Reason {
		pair := newWorld().Pair()
		seen := *pair.Copy
		pair.Copy = &seen
		seen.Asked.Verify, seen.Asked.Needed = verify, needed
		return warned(pair)
	}
	for _, warned := range [][]volumes.Reason{of("", 1000*gib), of(api.CopyVerifyLater, gib)} {
		if len(warned) != 1 || warned[0].Reason != volumes.ReasonCopyProvesLater || !strings.Contains(warned[0].Remedy, "verify=full") {
			t.Errorf("got %+v", warned)
		}
	}
	if got := of("", gib); len(got) > 0 {
		t.Errorf("got %+v", got)
	}
}

// TestRecoveredWhileOwing: the side is lost to which an ordinal was copied, and its proof was owed. The ordinal returns to
// the volume that it has left. A sender that is left of the copy ends first.
func TestRecoveredWhileOwing(t *testing.T) {
	w := owing(t)
	w.Turn()
	w.proceed(t, func() bool { return (Copy{}).Ahead(w.owedPair(), volumes.Unproven).Done() })
	pair := w.owedPair()
	pair.Word.ReturnsToKept = true
	seen := *pair.Copy
	pair.Giver, pair.Copy = volumes.Holding{Ref: pair.Giver.Ref}, &seen
	seen.Incoming.Claim, seen.Incoming.Volume, seen.Receiver = volumes.Claim{}, volumes.Volume{}, volumes.Mover{}
	if !pair.Taker.Parked() || !seen.Back {
		t.Fatalf("the world is not as it should be: %+v", pair)
	}
	if got := (Copy{}).Ahead(pair, volumes.Filled); !got.Done() {
		t.Errorf("it is filled by %+v", got)
	}
	got := (Copy{}).Transfer(pair)
	if a := got.Action; a == nil || a.Verb != volumes.Point || a.AtGiver || !a.After.ClaimRef.Names(pair.Taker.Ref) || a.After.Released != "" {
		t.Errorf("it returns by %+v", got)
	}
	seen.Sender = volumes.Mover{Found: true, UID: "sender", Attempt: seen.Attempt.Number}
	if a := (Copy{}).Transfer(pair).Action; a == nil || a.Verb != volumes.DeleteMover || a.UID != "sender" {
		t.Errorf("a sender is left: %+v", a)
	}
}
