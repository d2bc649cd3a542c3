package copy

import (
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"pgregory.net/rapid"

	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/volumes"
)

// TestNames: the names of a copy's claims and pods are no ordinal's, and no attempt has another one's.
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
		for _, ref := range []volumes.Ref{IncomingRef(west, owner, attempt), IncomingRef(east, owner, attempt), IncomingRef(west, "another", attempt)} {
			see(ref.Namespace, ref.Name)
		}
		for _, role := range []volumes.Role{volumes.RoleReceiver, volumes.RoleSender} {
			see("east", PodName(role, east, owner, attempt))
		}
	}
	see("east", OutgoingRef(east, owner).Name)
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	if first := Numbered(now, 0); Numbered(now, first) != first+1 || Numbered(now.Add(time.Second), 0) != first+1 || Numbered(now.AddDate(1000, 0, 0), 7) != 1<<30 {
		t.Errorf("attempts are numbered from %d", Numbered(now, 0))
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

// introduced is when both movers know each other.
func introduced(w *world) bool {
	seen := w.pair().Copy
	return seen.Receiver.Peer != "" && seen.Sender.Peer != ""
}

func transfer(pair volumes.Pair, change func(*volumes.Copying)) volumes.Verdict {
	seen := *pair.Copy
	change(&seen)
	pair.Copy = &seen
	return Copy{}.Transfer(pair)
}

// end lets both movers end with these results, a second ago.
func end(from, to volumes.MoverResult) func(*volumes.Copying) {
	return func(c *volumes.Copying) {
		c.Sender.Ended, c.Sender.Result, c.Receiver.Ended, c.Receiver.Result = true, from, true, to
		c.Sender.EndedAt, c.Receiver.EndedAt = c.Now.Add(-time.Second), c.Now.Add(-time.Second)
	}
}

// TestPassEnds: what is recorded is what both sides have shown, and what differs is gone through again.
func TestPassEnds(t *testing.T) {
	pair := until(t, introduced).pair()
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

// TestPassFails: what differs three times stalls; what has failed is tried again after a while; and a disk that has
// failed is not used any more.
func TestPassFails(t *testing.T) {
	pair := until(t, introduced).pair()
	whole := volumes.MoverResult{Done: true, Root: "r"}
	differs := transfer(pair, func(c *volumes.Copying) {
		c.Attempt.Passes, c.Attempt.Differs, c.Receiver, c.Sender = mostPasses, "etc/passwd", volumes.Mover{}, volumes.Mover{}
	})
	if differs.Blocked == nil || differs.Blocked.Reason != volumes.ReasonCopyDiffers || !strings.Contains(differs.Blocked.Message, "etc/passwd") {
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
	torn := transfer(pair, func(c *volumes.Copying) {
		end(failed, volumes.MoverResult{Torn: true})(c)
		c.Sender, c.Receiver.Terminating = volumes.Mover{}, false
	})
	if torn.Action == nil || torn.Action.Verb != volumes.DeleteMover || torn.Action.Copy.Role != volumes.RoleReceiver {
		t.Errorf("the disk has failed: %+v", torn)
	}
}

// TestContent: a pass after one that has ended with different roots compares what looks alike, too.
func TestContent(t *testing.T) {
	pair := until(t, introduced).pair()
	got := transfer(pair, func(c *volumes.Copying) {
		c.Attempt.Passes, c.Receiver, c.Sender = 1, volumes.Mover{}, volumes.Mover{}
	})
	if a := got.Action; a == nil || a.Verb != volumes.CreateMover || a.Copy.Pass != 2 || !a.Copy.Content {
		t.Errorf("got %+v", got)
	}
}

// TestTakenWithoutASeal: what somebody else has pointed at the ordinal's claim is not started on.
func TestTakenWithoutASeal(t *testing.T) {
	pair := until(t, introduced).pair()
	got := transfer(pair, func(c *volumes.Copying) { c.Incoming.Volume.ClaimRef = pair.Taker.Ref })
	if got.Blocked == nil || got.Blocked.Reason != volumes.ReasonCopyNotSealed {
		t.Errorf("got %+v", got)
	}
}

// TestLateWrites: a take-over that was decided before the move turned round is refused afterwards: the copy would
// bear the ordinal's name, as old as it is. So is a way back that was decided before the move went on again.
func TestLateWrites(t *testing.T) {
	due := func(verb volumes.Verb, back bool) *world {
		return until(t, func(w *world) bool {
			if back && w.giver == 0 && w.pair().Copy.Outgoing.Bound() {
				w.giver, w.epoch = 1, w.epoch+1
			}
			action := (Copy{}).Transfer(w.pair()).Action
			return w.runs == nowhere && action != nil && action.Verb == verb
		})
	}
	for _, verb := range []volumes.Verb{volumes.TakeOver, volumes.PointBack} {
		t.Run(string(verb), func(t *testing.T) {
			w := due(verb, verb == volumes.PointBack)
			rapid.Check(t, func(t *rapid.T) {
				if w.runs != nowhere {
					return // it has come to its end in the first of these checks
				}
				write := w.decide(t)
				w.giver, w.epoch = 1-w.giver, w.epoch+1
				for range 100 {
					if w.runs != 1-w.giver {
						w.step(t)
					}
				}
				if w.runs != 1-w.giver {
					t.Fatalf("it does not come to its end: %+v", w.pair())
				}
				before := w.places[write.side].volume(write.Volume).ClaimRef
				w.arrive(t, *write)
				if after := w.places[write.side].volume(write.Volume).ClaimRef; after != before {
					t.Fatalf("the late write was let in: %+v", after)
				}
				w.check(t)
			})
		})
	}
}

// TestCheck: what keeps a claim from being copied is said before anything is stopped.
func TestCheck(t *testing.T) {
	base := newWorld().pair()
	for name, tc := range map[string]struct {
		change func(*volumes.Pair, *volumes.CopyAsked)
		want   string
	}{
		"nothing":               {func(*volumes.Pair, *volumes.CopyAsked) {}, ""},
		"no image":              {func(_ *volumes.Pair, a *volumes.CopyAsked) { a.Image = "" }, volumes.ReasonCopyImageMissing},
		"too small":             {func(_ *volumes.Pair, a *volumes.CopyAsked) { a.Size, a.Needed = 5, 10 }, volumes.ReasonCopySizeTooSmall},
		"large enough":          {func(_ *volumes.Pair, a *volumes.CopyAsked) { a.Size, a.Needed = 10, 10 }, ""},
		"no claim":              {func(p *volumes.Pair, _ *volumes.CopyAsked) { p.Giver.Claim = volumes.Claim{} }, volumes.ReasonClaimMissing},
		"somebody else's claim": {func(p *volumes.Pair, _ *volumes.CopyAsked) { p.Taker.Claim = volumes.Claim{Found: true} }, volumes.ReasonForeignClaim},
		"a claim of its own":    {func(p *volumes.Pair, _ *volumes.CopyAsked) { p.Taker.Claim = volumes.Claim{Found: true, Ours: true} }, ""},
		"a claim that was left": {func(p *volumes.Pair, _ *volumes.CopyAsked) { p.Taker = leftBehind(p.Taker.Ref) }, ""},
		"nothing was looked at": {func(p *volumes.Pair, _ *volumes.CopyAsked) { p.Copy = nil }, volumes.ReasonCopyImageMissing},
	} {
		t.Run(name, func(t *testing.T) {
			pair, seen := base, *base.Copy
			pair.Copy = &seen
			tc.change(&pair, &seen.Asked)
			got := (Copy{}).Check(pair)
			if tc.want == "" && got != nil || tc.want != "" && (got == nil || got.Reason != tc.want || got.Remedy == "") {
				t.Errorf("got %+v, want %q", got, tc.want)
			}
		})
	}
}

// leftBehind is a claim whose volume this migration has parked.
func leftBehind(ref volumes.Ref) volumes.Holding {
	return volumes.Holding{
		Ref: ref, Claim: volumes.Claim{Found: true, Phase: corev1.ClaimLost, Volume: "old"},
		Volume: volumes.Volume{Found: true, Name: "old", ClaimRef: volumes.Parked(ref), Policy: corev1.PersistentVolumeReclaimRetain, Note: volumes.Note{Policy: "Delete", By: owner}},
	}
}

// TestNothingIsCopiedFromWhatWasLeft: where the move turns round before anything was copied, the ordinal starts on
// the volume that it had, whatever the other side has kept from an earlier time.
func TestNothingIsCopiedFromWhatWasLeft(t *testing.T) {
	pair := newWorld().pair()
	pair.Giver, pair.Taker = leftBehind(pair.Taker.Ref), pair.Giver
	if got := (Copy{}).Transfer(pair); got.Attempt != nil || got.Action != nil && got.Action.Verb != volumes.Point {
		t.Errorf("got %+v", got)
	}
}

// TestCarried: an ordinal that has moved is known to be on its copy, or it is said why not.
func TestCarried(t *testing.T) {
	w := until(t, func(w *world) bool { return w.runs == 1 })
	at, from := w.places[1].holding(), w.places[0].holding()
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
			if got := (Copy{}).Carried(volumes.Taken{Made: true, From: from, At: at}); (got != nil) != tc.amiss {
				t.Errorf("got %+v", got)
			}
		})
	}
}

// TestConfirm: a volume that this migration has not secured before the stop, or that is another one than was
// recorded then, is copied nowhere; the copy that was taken over just before the move turned round is.
func TestConfirm(t *testing.T) {
	pair := until(t, func(w *world) bool { return w.runs == nowhere }).pair()
	if got := (Copy{}).Confirm(pair, volumes.Disk(pair.Giver.Volume.Handle)); got != nil {
		t.Errorf("as it was stopped: %+v", got)
	}
	if got := (Copy{}).Confirm(pair, volumes.Disk("another")); got == nil || got.Reason != volumes.ReasonAnotherDisk {
		t.Errorf("another disk: %+v", got)
	}
	unsecured := pair
	unsecured.Giver.Volume.Note = volumes.Note{}
	if got := (Copy{}).Confirm(unsecured, ""); got == nil || got.Reason != volumes.ReasonAnotherDisk {
		t.Errorf("not secured: %+v", got)
	}
	w := until(t, func(w *world) bool { return w.runs == 1 })
	was := volumes.Disk(w.places[0].holding().Volume.Handle)
	w.giver = 1
	if got := (Copy{}).Confirm(w.pair(), was); got != nil {
		t.Errorf("turned round after the take-over: %+v", got)
	}
	w.record = api.CopyAttempt{Number: w.record.Number, Giver: strconv.Itoa(0)}
	if got := (Copy{}).Confirm(w.pair(), was); got == nil {
		t.Error("a volume without a seal is taken for the copy")
	}
}
