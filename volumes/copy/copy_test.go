package copy

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"pgregory.net/rapid"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/volumes"
	"github.com/sliceshift/sliceshift/volumes/internal/volumestest"
)

// TestNames: the names of a copy's claims and pods are no ordinal's, and no two attempts share a name.
func TestNames(t *testing.T) {
	ordinal := regexp.MustCompile(`-[0-9]+$`)
	seen := map[string]bool{}
	see := func(namespace, name string) {
		if ordinal.MatchString(name) || seen[namespace+name] || len(name) > 63 {
			t.Errorf("%s", name)
		}
		seen[namespace+name] = true
	}
	east, west := volumes.Ref{Namespace: "east", Name: "data-web-0"}, volumes.Ref{Namespace: "west", Name: "data-web-0"}
	for _, attempt := range []int32{0, 1, 35, 36, 1 << 30} {
		for _, ref := range []volumes.Ref{volumes.IncomingRef(west, owner, attempt), volumes.IncomingRef(east, owner, attempt), volumes.IncomingRef(west, "another", attempt)} {
			see(ref.Namespace, ref.Name)
		}
		for _, role := range []volumes.Role{volumes.RoleReceiver, volumes.RoleSender} {
			see("east", PodName(role, east, owner, attempt))
		}
	}
	see("east", volumes.OutgoingRef(east, owner).Name)
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	if first := volumes.Numbered(now, 0); volumes.Numbered(now, first) != first+1 || volumes.Numbered(now.Add(time.Second), 0) != first+1 || volumes.Numbered(now.AddDate(1000, 0, 0), 7) != 1<<30 {
		t.Errorf("attempts are numbered from %d", volumes.Numbered(now, 0))
	}
}

// TestLongNames: the name of a claim may be longer than that of a Service or a label value. The objects beside
// it have names that fit and are unique.
func TestLongNames(t *testing.T) {
	t.Run("M-031, M-088: of claims that differ in the last of 200 letters", func(t *testing.T) {
		seen := map[string]bool{}
		for _, name := range []string{strings.Repeat("a", 198) + "-0", strings.Repeat("a", 198) + "-1"} {
			ref := volumes.Ref{Namespace: strings.Repeat("n", 63), Name: name}
			made := []string{volumes.IncomingRef(ref, owner, 1).Name, volumes.OutgoingRef(ref, owner).Name, BaseRef(ref, owner, 1).Name}
			for _, role := range []volumes.Role{volumes.RoleReceiver, volumes.RoleWarm, volumes.RoleSender} {
				made = append(made, PodName(role, ref, owner, 1))
			}
			for _, each := range made {
				if wrong := validation.IsDNS1035Label(each); len(wrong) > 0 || seen[each] {
					t.Errorf("%s is there twice, or %v", each, wrong)
				}
				seen[each] = true
			}
		}
	})
}

// until lets everything act as intended until a condition holds.
func until(t *testing.T, so func(*world) bool) *world {
	t.Helper()
	return untilIn(t, newWorld, so)
}

// untilIn is until in another world.
func untilIn(t *testing.T, another func() *world, so func(*world) bool) *world {
	t.Helper()
	var found *world
	rapid.Check(t, func(t *rapid.T) {
		if found != nil {
			return
		}
		w := another()
		for range 200 {
			if so(w) {
				found = w
				return
			}
			w.Step(t)
		}
	})
	if found == nil {
		t.Fatal("it never comes to that")
	}
	return found
}

// attached returns a world in which VolumeAttachments show where volumes are mounted. No sender stands by there: it is
// created on the outgoing claim.
func attached() *world {
	w := newWorld()
	w.attaches = true
	return w
}

// introduced reports whether both movers know each other.
func introduced(w *world) bool {
	seen := w.Pair().Copy
	return seen.Receiver.Peer != "" && seen.Sender.Peer != ""
}

func transfer(pair volumes.Pair, change func(*volumes.Copying)) volumes.Verdict {
	seen := *pair.Copy
	change(&seen)
	pair.Copy = &seen
	return Copy{}.Transfer(pair)
}

// end ends both movers with these results, a second ago.
func end(from, to volumes.MoverResult) func(*volumes.Copying) {
	return func(c *volumes.Copying) {
		c.Sender.Ended, c.Sender.Result, c.Receiver.Ended, c.Receiver.Result = true, from, true, to
		c.Sender.EndedAt, c.Receiver.EndedAt = c.Now.Add(-time.Second), c.Now.Add(-time.Second)
	}
}

// TestPassEnds: the results of both sides are recorded, and a difference leads to another pass.
func TestPassEnds(t *testing.T) {
	pair := untilIn(t, attached, introduced).Pair()
	whole := volumes.MoverResult{Done: true, Root: "r"}
	seal := transfer(pair, end(whole, whole)).Attempt
	if seal == nil || seal.Seal.Root != "r" || seal.Seal.Released != pair.Giver.Volume.Released || seal.Seal.Volume != pair.Copy.Incoming.Volume.Name || seal.Number != pair.Copy.Attempt.Number {
		t.Errorf("equal: %+v", seal)
	}
	for name, verdict := range map[string]volumes.Verdict{
		"the receiver has seen it": transfer(pair, end(whole, volumes.MoverResult{Root: "s", Differs: "etc/passwd"})),
		"only the roots say so":    transfer(pair, end(whole, volumes.MoverResult{Done: true, Root: "s", Differs: "etc/passwd"})),
		"no root at all":           transfer(pair, end(volumes.MoverResult{Done: true}, volumes.MoverResult{Done: true, Differs: "etc/passwd"})),
	} {
		if next := verdict.Attempt; next == nil || next.Passes != 1 || next.Differs != "etc/passwd" || next.Seal.Root != "" {
			t.Errorf("%s: %+v", name, verdict)
		}
	}
}

// TestLostIncomingClaim: a user deletes the claim of a copy. The receiver's findings apply to the volume that
// is deleted with it. Nothing is sealed, and another attempt begins under other names, whether the pass has
// ended or not (I3).
func TestLostIncomingClaim(t *testing.T) {
	for name, ended := range map[string]int{"it is under way": 0, "the receiver has ended": 2, "both have": 3} {
		for how, claim := range map[string]func(volumes.Claim) volumes.Claim{
			"it is gone":        func(volumes.Claim) volumes.Claim { return volumes.Claim{} },
			"it is Terminating": func(c volumes.Claim) volumes.Claim { c.Terminating = true; return c },
		} {
			t.Run(name+", "+how, func(t *testing.T) {
				w := untilIn(t, attached, introduced)
				for what := 1; what <= ended; what++ {
					w.talk(what)
				}
				seen := w.Pair().Copy
				before, in := seen.Attempt.Number, seen.Incoming.Ref.Name
				w.Places[1].Incoming[in] = claim(w.Places[1].Incoming[in])
				for range 20 {
					if write := w.Decide(t); write != nil {
						if write.Verb == volumes.CreateIncoming && write.Ref.Name == in {
							t.Fatalf("claim %s is made a second time", in)
						}
						w.Arrive(t, *write)
					}
					for _, mover := range w.names() {
						if w.movers[mover].Terminating {
							w.kubelet(mover)
						}
					}
					if w.Record.Seal.Root != "" {
						t.Fatalf("it is sealed: %+v", w.Record.Seal)
					}
				}
				if w.Record.Number == before {
					t.Errorf("no other attempt has begun: %+v", (Copy{}).Transfer(w.Pair()))
				}
			})
		}
	}
}

// TestClaimIsNotMadeBesideAReceiver: if the claim of a copy is deleted while a receiver has its volume mounted,
// no other claim of that name is created. It would have another volume than the receiver. The attempt is
// dropped first (I3).
func TestClaimIsNotMadeBesideAReceiver(t *testing.T) {
	pair := until(t, func(w *world) bool {
		seen := w.Pair().Copy
		return w.Runs == w.Giver && seen.Receiver.Key != "" && !seen.Attempt.Filling
	}).Pair()
	seen := *pair.Copy
	seen.Incoming.Claim, seen.Incoming.Volume = volumes.Claim{}, volumes.Volume{}
	pair.Copy = &seen
	if got := (Copy{}).Ahead(pair, volumes.Claimed); !got.Done() {
		t.Errorf("got %+v", got)
	}
	if got := (Copy{}).Ahead(pair, volumes.Warm); got.Attempt == nil || !got.Attempt.Dropped {
		t.Errorf("what was lost is %+v", got)
	}
	seen.Receiver = volumes.Mover{}
	if got := (Copy{}).Ahead(pair, volumes.Claimed); got.Action == nil || got.Action.Verb != volumes.CreateIncoming {
		t.Errorf("without a receiver: %+v", got)
	}
}

// TestSealIsOfWhatWasWritten: the claim of a copy is deleted once its receiver has ended, and before its sender
// is seen to have ended. Their results are not applied to the empty volume that another claim gets (I3).
func TestSealIsOfWhatWasWritten(t *testing.T) {
	w := untilIn(t, attached, introduced)
	w.talk(1)
	w.talk(2)
	w.Places[1].Incoming = map[string]volumes.Claim{}
	for range 100 {
		if write := w.Decide(t); write != nil {
			w.Arrive(t, *write)
		}
		w.binder()
		for _, name := range w.names() {
			w.kubelet(name)
		}
		w.talk(3)
		w.talk(1)
		w.talk(2)
		w.Now = w.Now.Add(time.Second)
		if w.Runs == 1 {
			return
		}
	}
	t.Fatalf("it does not start: %+v", (Copy{}).Transfer(w.Pair()))
}

// TestPassFails: three passes with a difference stall the copy, a failed pass is retried after a pause, and a
// failed disk is recorded.
func TestPassFails(t *testing.T) {
	pair := untilIn(t, attached, introduced).Pair()
	whole := volumes.MoverResult{Done: true, Root: "r"}
	differs := transfer(pair, func(c *volumes.Copying) {
		c.Attempt.Passes, c.Attempt.Differs, c.Receiver, c.Sender = mostPasses, "etc/passwd", volumes.Mover{}, volumes.Mover{}
	})
	if differs.Hold == nil || differs.Hold.Reason != volumes.ReasonCopyDiffers || !strings.Contains(differs.Hold.Message, "etc/passwd") {
		t.Errorf("three times: %+v", differs)
	}
	failed := volumes.MoverResult{Message: "connection refused"}
	if got := transfer(pair, end(failed, failed)); got.Look != pause-time.Second || !strings.Contains(got.Waits, "connection refused") {
		t.Errorf("just failed: %+v", got)
	}
	if got := transfer(pair, func(c *volumes.Copying) {
		end(failed, whole)(c)
		c.Receiver.Result.Done, c.Now = false, c.Now.Add(pause)
	}); got.Action == nil || got.Action.Verb != volumes.DeleteMover {
		t.Errorf("failed: %+v", got)
	}
	if got := transfer(pair, func(c *volumes.Copying) {
		end(failed, whole)(c)
		c.Now = c.Now.Add(pause)
	}); got.Action == nil || got.Action.Verb != volumes.DeleteMover {
		t.Errorf("the sender has died when its receiver was done: %+v", got)
	}
	torn := transfer(pair, func(c *volumes.Copying) {
		end(failed, volumes.MoverResult{Torn: true})(c)
		c.Sender, c.Receiver.Terminating = volumes.Mover{}, false
	})
	if torn.Attempt == nil || torn.Attempt.Torn.Times != 1 || torn.Attempt.Number != pair.Copy.Attempt.Number {
		t.Errorf("the disk has failed: %+v", torn)
	}
}

// TestForeignPods: a pod with a mover's name that another client has created is neither trusted nor deleted, in
// either direction. On the way back the volume of a foreign receiver is not used, so that receiver does not
// block the way back.
func TestForeignPods(t *testing.T) {
	pair := untilIn(t, attached, introduced).Pair()
	whole := volumes.MoverResult{Done: true, Root: "r"}
	foreign := func(role volumes.Role) func(*volumes.Copying) {
		return func(c *volumes.Copying) {
			end(whole, whole)(c)
			c.Receiver.Foreign, c.Sender.Foreign = role == volumes.RoleReceiver, role == volumes.RoleSender
		}
	}
	for name, tc := range map[string]struct {
		role          volumes.Role
		change        func(*volumes.Copying)
		back, blocked bool
	}{
		"the receiver":                    {volumes.RoleReceiver, nil, false, true},
		"the sender":                      {volumes.RoleSender, nil, false, true},
		"the sender, on the way back":     {volumes.RoleSender, nil, true, true},
		"the receiver, on the way back":   {volumes.RoleReceiver, nil, true, false},
		"one of an attempt before":        {volumes.RoleReceiver, func(c *volumes.Copying) { c.Receiver.Attempt-- }, false, true},
		"one that is about to be gone":    {volumes.RoleReceiver, func(c *volumes.Copying) { c.Receiver.Terminating = true }, false, true},
		"the receiver, after three tries": {volumes.RoleReceiver, func(c *volumes.Copying) { c.Attempt.Passes, c.Sender = mostPasses, volumes.Mover{} }, false, true},
	} {
		t.Run(name, func(t *testing.T) {
			pair := pair
			if tc.back {
				pair.Giver, pair.Taker = pair.Taker, pair.Giver
			}
			got := transfer(pair, func(c *volumes.Copying) {
				foreign(tc.role)(c)
				if tc.change != nil {
					tc.change(c)
				}
				c.Back = tc.back
			})
			if is := got.Hold != nil && got.Hold.Reason == volumes.ReasonForeignPod; is != tc.blocked {
				t.Errorf("got %+v", got)
			}
			if a := got.Action; a != nil && a.Verb == volumes.DeleteMover && a.Copy.Role == tc.role {
				t.Errorf("it is deleted: %+v", a)
			}
			if got.Attempt != nil {
				t.Errorf("it is believed: %+v", got.Attempt)
			}
		})
	}
}

// TestAddressOfANode: the receiver is created before its Service has an address, which may be that of its node.
// The sender is created once there is an address.
func TestAddressOfANode(t *testing.T) {
	pair := untilIn(t, attached, introduced).Pair()
	unknown := func(c *volumes.Copying) { c.Entrance.Address, c.Receiver.Peer, c.Sender = "", "", volumes.Mover{} }
	got := transfer(pair, func(c *volumes.Copying) {
		unknown(c)
		c.Receiver = volumes.Mover{}
	})
	if a := got.Action; a == nil || a.Verb != volumes.CreateMover || a.Copy.Role != volumes.RoleReceiver {
		t.Errorf("without a receiver: %+v", got)
	}
	if got := transfer(pair, unknown); got.Action != nil || !strings.Contains(got.Waits, "has an address") {
		t.Errorf("with a receiver: %+v", got)
	}
	if got := transfer(pair, func(c *volumes.Copying) { c.Receiver.Peer, c.Sender = "", volumes.Mover{} }); got.Action == nil || got.Action.Copy.Role != volumes.RoleSender || got.Action.Copy.Address == "" {
		t.Errorf("with an address: %+v", got)
	}
}

// TestContent: a pass after one that has ended with different roots also compares files that look alike.
func TestContent(t *testing.T) {
	pair := untilIn(t, attached, introduced).Pair()
	got := transfer(pair, func(c *volumes.Copying) {
		c.Attempt.Passes, c.Receiver, c.Sender = 1, volumes.Mover{}, volumes.Mover{}
	})
	if a := got.Action; a == nil || a.Verb != volumes.CreateMover || a.Copy.Pass != 2 || !a.Copy.Content {
		t.Errorf("got %+v", got)
	}
}

// TestTakenWithoutASeal: the ordinal is not started on a volume that another client has pointed at its claim.
func TestTakenWithoutASeal(t *testing.T) {
	pair := untilIn(t, attached, introduced).Pair()
	got := transfer(pair, func(c *volumes.Copying) { c.Incoming.Volume.ClaimRef = pair.Taker.Ref })
	if got.Hold == nil || got.Hold.Reason != volumes.ReasonCopyNotSealed {
		t.Errorf("got %+v", got)
	}
}

// TestLateWrites: a take-over that was decided before the move was reversed is refused after that. Otherwise
// the copy would have the ordinal's name with outdated data. The same holds for a way back that was decided
// before the move was reversed again.
func TestLateWrites(t *testing.T) {
	due := func(verb volumes.Verb, back bool) *world {
		return until(t, func(w *world) bool {
			if back && w.Giver == 0 && w.Runs == volumestest.Nowhere && w.Pair().Giver.Volume.Released != "" {
				w.Turn()
			}
			action := (Copy{}).Transfer(w.Pair()).Action
			return w.Runs == volumestest.Nowhere && action != nil && action.Verb == verb
		})
	}
	for _, verb := range []volumes.Verb{volumes.TakeOver, volumes.PointBack} {
		t.Run(string(verb), func(t *testing.T) {
			w := due(verb, verb == volumes.PointBack)
			rapid.Check(t, func(t *rapid.T) {
				if w.Runs != volumestest.Nowhere {
					return // it ended during the first of these checks
				}
				write := w.Decide(t)
				w.Turn()
				for range 100 {
					if w.Runs != 1-w.Giver {
						w.Step(t)
					}
				}
				if w.Runs != 1-w.Giver {
					t.Fatalf("it does not come to its end: %+v", w.Pair())
				}
				before := w.Places[write.Side].Volume(write.Volume).ClaimRef
				w.Arrive(t, *write)
				if after := w.Places[write.Side].Volume(write.Volume).ClaimRef; after != before {
					t.Fatalf("the late write was let in: %+v", after)
				}
				w.Check(t)
			})
		})
	}
}

// TestCheck: reasons why a claim cannot be copied are reported before anything is stopped.
func TestCheck(t *testing.T) {
	base := newWorld().Pair()
	for name, tc := range map[string]struct {
		change func(*volumes.Pair, *volumes.CopyAsked)
		want   string
	}{
		"nothing":                      {func(*volumes.Pair, *volumes.CopyAsked) {}, ""},
		"no image":                     {func(_ *volumes.Pair, a *volumes.CopyAsked) { a.Image = "" }, volumes.ReasonCopyImageMissing},
		"M-089: too small":             {func(_ *volumes.Pair, a *volumes.CopyAsked) { a.Size, a.Needed = 5, 10 }, volumes.ReasonCopySizeTooSmall},
		"M-089: large enough":          {func(_ *volumes.Pair, a *volumes.CopyAsked) { a.Size, a.Needed = 10, 10 }, ""},
		"no claim":                     {func(p *volumes.Pair, _ *volumes.CopyAsked) { p.Giver.Claim = volumes.Claim{} }, volumes.ReasonClaimMissing},
		"M-051: somebody else's claim": {func(p *volumes.Pair, _ *volumes.CopyAsked) { p.Taker.Claim = volumes.Claim{Found: true} }, volumes.ReasonForeignClaim},
		"a claim of its own":           {func(p *volumes.Pair, _ *volumes.CopyAsked) { p.Taker.Claim = volumes.Claim{Found: true, Ours: true} }, ""},
		"a claim that was left":        {func(p *volumes.Pair, _ *volumes.CopyAsked) { p.Taker = leftBehind(p.Taker.Ref) }, ""},
		"nothing was looked at":        {func(p *volumes.Pair, _ *volumes.CopyAsked) { p.Copy = nil }, volumes.ReasonCopyImageMissing},
	} {
		t.Run(name, func(t *testing.T) {
			pair, seen := base, *base.Copy
			pair.Copy = &seen
			tc.change(&pair, &seen.Asked)
			got, _ := (Copy{}).Check(pair, volumes.BeforeMove)
			if tc.want == "" && got != nil || tc.want != "" && (got == nil || got.Reason != tc.want || got.Remedy == "") {
				t.Errorf("got %+v, want %q", got, tc.want)
			}
		})
	}
}

// leftBehind returns a claim whose volume this migration has parked.
func leftBehind(ref volumes.Ref) volumes.Holding {
	return volumes.Holding{
		Ref: ref, Claim: volumes.Claim{Found: true, Phase: corev1.ClaimLost, Volume: "old"},
		Volume: volumes.Volume{Found: true, Name: "old", ClaimRef: volumes.Parked(ref), Policy: corev1.PersistentVolumeReclaimRetain, Note: volumes.Note{Policy: "Delete", By: owner}},
	}
}

// TestNothingIsCopiedFromWhatWasLeft: if the move is reversed before anything was copied, the ordinal starts on
// its former volume, whatever the other side has kept from an earlier move.
func TestNothingIsCopiedFromWhatWasLeft(t *testing.T) {
	pair := newWorld().Pair()
	pair.Giver, pair.Taker = leftBehind(pair.Taker.Ref), pair.Giver
	if got := (Copy{}).Transfer(pair); got.Attempt != nil || got.Action != nil && got.Action.Verb != volumes.Point {
		t.Errorf("got %+v", got)
	}
}

// TestCarried: an ordinal that has moved is known to be on its copy, or the reason why not is reported.
func TestCarried(t *testing.T) {
	w := until(t, func(w *world) bool { return w.Runs == 1 })
	at, from := w.Places[1].Holding(), w.Places[0].Holding()
	for name, tc := range map[string]struct {
		change func(at, from *volumes.Holding)
		amiss  bool
	}{
		"as it arrived":        {func(_, _ *volumes.Holding) {}, false},
		"no claim":             {func(at, _ *volumes.Holding) { at.Claim = volumes.Claim{} }, true},
		"another volume":       {func(at, _ *volumes.Holding) { at.Claim.Volume = "another" }, true},
		"no seal":              {func(at, _ *volumes.Holding) { at.Volume.Seal = "" }, true},
		"the disk it had":      {func(at, from *volumes.Holding) { at.Volume.Handle = from.Volume.Handle }, true},
		"not bound":            {func(at, _ *volumes.Holding) { at.Claim.Phase = corev1.ClaimLost }, true},
		"what it left is gone": {func(_, from *volumes.Holding) { from.Volume = volumes.Volume{} }, false},
	} {
		t.Run(name, func(t *testing.T) {
			at, from := at, from
			tc.change(&at, &from)
			if got, _ := (Copy{}).Check(volumes.Pair{Carried: true, Giver: from, Taker: at}, volumes.AfterArrival); (got != nil) != tc.amiss {
				t.Errorf("got %+v", got)
			}
		})
	}
}

// unconfirmed returns why the giver's volume may not be the one that the ordinal was stopped with, or nil.
func unconfirmed(pair volumes.Pair, disk string) *volumes.Reason {
	pair.Disk = disk
	problem, _ := (Copy{}).Check(pair, volumes.AfterStop)
	return problem
}

// TestConfirm: a volume that this migration has not secured before the stop, or that differs from the recorded
// one, is not copied. A copy that was taken over just before the move was reversed is.
func TestConfirm(t *testing.T) {
	pair := until(t, func(w *world) bool { return w.Runs == volumestest.Nowhere }).Pair()
	if got := unconfirmed(pair, volumes.Disk(pair.Giver.Volume.Handle)); got != nil {
		t.Errorf("as it was stopped: %+v", got)
	}
	if got := unconfirmed(pair, volumes.Disk("another")); got == nil || got.Reason != volumes.ReasonAnotherDisk {
		t.Errorf("another disk: %+v", got)
	}
	unsecured := pair
	unsecured.Giver.Volume.Note = volumes.Note{}
	if got := unconfirmed(unsecured, ""); got == nil || got.Reason != volumes.ReasonAnotherDisk {
		t.Errorf("not secured: %+v", got)
	}
	w := until(t, func(w *world) bool { return w.Runs == 1 })
	was := volumes.Disk(w.Places[0].Holding().Volume.Handle)
	w.Giver = 1
	if got := unconfirmed(w.Pair(), was); got != nil {
		t.Errorf("turned round after the take-over: %+v", got)
	}
	w.Record = api.CopyAttempt{Number: w.Record.Number, Giver: strconv.Itoa(0)}
	if got := unconfirmed(w.Pair(), was); got == nil {
		t.Error("a volume without a seal is taken for the copy")
	}
	now := volumes.Disk(w.Places[1].Holding().Volume.Handle)
	w = until(t, func(w *world) bool { return w.Runs == 1 })
	if got := unconfirmed(w.Pair(), now); got != nil {
		t.Errorf("stopped on its copy to go back, and turned round before that: %+v", got)
	}
	w.Giver, w.Record = 0, api.CopyAttempt{Number: w.Record.Number + 1, Giver: strconv.Itoa(1)}
	if got := unconfirmed(w.Pair(), now); got != nil {
		t.Errorf("turned round twice, and nothing was copied back: %+v", got)
	}
	if got := unconfirmed(w.Pair(), volumes.Disk("another")); got == nil {
		t.Error("another volume is taken for what was to be copied back")
	}
}

// TestReceiverIsExported: if it is requested, the receiver's Service is exported before its address is used,
// and obstacles are reported.
func TestReceiverIsExported(t *testing.T) {
	pair := untilIn(t, attached, introduced).Pair()
	asks := func(then func(*volumes.Copying)) volumes.Verdict {
		return transfer(pair, func(c *volumes.Copying) {
			c.Asked.Export, c.Asked.ExportVersion = true, "v1beta1"
			c.Entrance.Address, c.Receiver.Peer, c.Sender = "", "", volumes.Mover{}
			then(c)
		})
	}
	made := asks(func(*volumes.Copying) {})
	if a := made.Action; a == nil || a.Verb != volumes.ExportEntrance || a.Ref != pair.Copy.Incoming.Ref || a.UID != pair.Copy.Incoming.Claim.UID || a.Copy.ExportVersion != "v1beta1" || a.AtGiver {
		t.Errorf("not exported: %+v", made)
	}
	for name, tc := range map[string]struct {
		then func(*volumes.Copying)
		says string
	}{
		"no such kind":  {func(c *volumes.Copying) { c.Asked.ExportVersion = "" }, "does not serve ServiceExport"},
		"not yet known": {func(c *volumes.Copying) { c.Entrance.Exported = true }, "has an address"},
		"refused": {func(c *volumes.Copying) {
			c.Entrance.Exported, c.Entrance.Refused = true, "TypeConflict: of another kind"
		}, "TypeConflict: of another kind"},
	} {
		if verdict := asks(tc.then); verdict.Action != nil || !strings.Contains(fmt.Sprint(verdict.Waits, verdict.Hold), tc.says) {
			t.Errorf("%s: %+v, want it to say %q", name, verdict, tc.says)
		}
	}
	if verdict := asks(func(c *volumes.Copying) { c.Entrance.Exported, c.Entrance.Address = true, "name:8722" }); verdict.Action == nil || verdict.Action.Verb != volumes.CreateMover || verdict.Action.Copy.Address != "name:8722" {
		t.Errorf("exported: %+v", verdict)
	}
	if verdict := asks(func(c *volumes.Copying) { c.Asked.Transport = api.TransportRelay }); verdict.Action != nil && verdict.Action.Verb == volumes.ExportEntrance {
		t.Errorf("relayed: %+v", verdict)
	}
}
