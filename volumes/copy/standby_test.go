package copy

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/volumes"
	"github.com/sliceshift/sliceshift/volumes/internal/volumestest"
)

// ready reports whether the ordinal runs and both movers of the last pass stand by.
func ready(w *world) bool {
	seen := w.Pair().Copy
	return w.Runs == w.Giver && seen.Receiver.Key != "" && !seen.Receiver.Warm && seen.Sender.Peer != ""
}

// sealed reports whether the copy is sealed and not taken over.
func sealed(w *world) bool {
	h := volumes.HandingOf(w.Pair())
	return w.Runs == volumestest.Nowhere && h.Sealed() && !h.Taken()
}

func standby(pair volumes.Pair, change func(*volumes.Pair, *volumes.Copying)) volumes.Verdict {
	seen := *pair.Copy
	pair.Copy = &seen
	change(&pair, &seen)
	return Copy{}.Ahead(pair, volumes.Standby)
}

// outage lets everything act as intended, and returns the writes between the stop of the ordinal and its start.
func outage(t *testing.T, w *world) []string {
	t.Helper()
	var writes []string
	for range 400 {
		w.Tick()
		before := w.Runs
		write := w.Decide(t)
		if write != nil {
			if before == volumestest.Nowhere {
				writes = append(writes, strings.TrimSpace(string(write.Verb)+" "+string(write.Copy.Role)))
			}
			w.Arrive(t, *write)
		}
		w.Check(t)
		if w.Runs == 1-w.Giver {
			return writes
		}
	}
	t.Fatalf("it does not start: %+v", w.Pair().Copy)
	return nil
}

// TestOutage: between its stop and its start an ordinal waits for no write that could come before or after. No pod is
// created, unless the volume must be detached first, or no second pod may mount its claim. Nothing is deleted.
func TestOutage(t *testing.T) {
	var (
		takeAway = []string{"Release"}
		late     = []string{"CreateOutgoing", "CreateMover sender", "TellMover receiver", "TellMover sender"}
		takeOver = []string{"Park", "TakeOver", "CreateClaim", "Park"}
	)
	for name, tc := range map[string]struct {
		change func(*world)
		pass   []string
	}{
		"as usual":                  {func(*world) {}, []string{"TellMover receiver"}},
		"the volume is attached":    {func(w *world) { w.attaches = true }, late},
		"a claim for one pod alone": {func(w *world) { w.alone = true }, late},
		"nothing is warm":           {func(w *world) { w.cold = true }, append(slices.Clone(late), "Secure")},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld()
			tc.change(w)
			if got, want := outage(t, w), slices.Concat(takeAway, tc.pass, takeOver); !slices.Equal(got, want) {
				t.Errorf("the writes are\n%s, want\n%s", got, want)
			}
		})
	}
}

// TestAfterTheStart: what an attempt needs no more is deleted once the ordinal has started: its movers, and the claims
// beside the ordinal's own.
func TestAfterTheStart(t *testing.T) {
	for name, attaches := range map[string]bool{"as usual": false, "the volume is attached": true} {
		t.Run(name, func(t *testing.T) {
			w := newWorld()
			w.attaches = attaches
			outage(t, w)
			in := w.Pair().Copy.Incoming.Ref.Name
			if len(w.movers) != 2 || !w.Places[1].Incoming[in].Found || w.Places[0].Outgoing.Found != attaches {
				t.Fatalf("it has started with %v, %+v and %+v", w.names(), w.Places[1].Incoming, w.Places[0].Outgoing)
			}
			for range 20 {
				w.Tick()
				if write := w.Drop(t); write != nil {
					w.Arrive(t, *write)
				}
				w.Check(t)
			}
			if len(w.movers) > 0 || len(w.Places[1].Incoming) > 0 || w.Places[0].Outgoing.Found || w.Record.Number != 0 {
				t.Errorf("left are %v, %+v and %+v", w.names(), w.Places[1].Incoming, w.Places[0].Outgoing)
			}
		})
	}
}

// TestStandbyIsStale: movers that cannot make the last pass are deleted before the stop, and made again.
func TestStandbyIsStale(t *testing.T) {
	pair := until(t, ready).Pair()
	if got := standby(pair, func(*volumes.Pair, *volumes.Copying) {}); !got.Done() && (got.Action == nil || got.Action.Verb != volumes.Secure) {
		t.Fatalf("both stand by: %+v", got)
	}
	if s := pair.Copy.Sender; s.Claim != pair.Giver.Ref.Name || s.Node != pair.Copy.Pod.Node || s.Warm {
		t.Errorf("the sender is %+v", s)
	}
	for name, tc := range map[string]struct {
		change func(*volumes.Pair, *volumes.Copying)
		want   volumes.Role
	}{
		"the receiver has made a pass":    {func(_ *volumes.Pair, c *volumes.Copying) { c.Receiver.Peer = c.Sender.Key }, volumes.RoleReceiver},
		"it is of a pass before":          {func(_ *volumes.Pair, c *volumes.Copying) { c.Attempt.Passes = 1; c.Sender = volumes.Mover{} }, volumes.RoleReceiver},
		"the sender knows another":        {func(_ *volumes.Pair, c *volumes.Copying) { c.Sender.Peer = "another" }, volumes.RoleSender},
		"its receiver is another":         {func(_ *volumes.Pair, c *volumes.Copying) { c.Receiver.Key = "another" }, volumes.RoleSender},
		"the sender is on another claim":  {func(_ *volumes.Pair, c *volumes.Copying) { c.Sender.Claim = c.Outgoing.Ref.Name }, volumes.RoleSender},
		"the volume is attached":          {func(p *volumes.Pair, _ *volumes.Copying) { p.Giver.Volume.Attachments = make([]volumes.Attachment, 1) }, volumes.RoleSender},
		"passes read a snapshot from now": {func(_ *volumes.Pair, c *volumes.Copying) { c.Attempt.Warm.By = api.CopyWarmSnapshot }, volumes.RoleSender},
		"the sender has ended": {func(_ *volumes.Pair, c *volumes.Copying) {
			c.Sender.Ended, c.Sender.EndedAt = true, c.Now.Add(-pause)
		}, volumes.RoleSender},
		"the receiver has ended": {func(_ *volumes.Pair, c *volumes.Copying) {
			c.Receiver.Ended, c.Receiver.EndedAt = true, c.Now.Add(-pause)
		}, volumes.RoleSender},
	} {
		t.Run(name, func(t *testing.T) {
			if a := standby(pair, tc.change).Action; a == nil || a.Verb != volumes.DeleteMover || a.Copy.Role != tc.want {
				t.Errorf("got %+v", a)
			}
		})
	}
	for name, change := range map[string]func(*volumes.Pair, *volumes.Copying){
		"its pod runs on another node": func(_ *volumes.Pair, c *volumes.Copying) { c.Pod.Node = "another" },
		"its pod is Terminating":       func(_ *volumes.Pair, c *volumes.Copying) { c.Pod.Terminating = true },
		"another warm pass is due":     func(_ *volumes.Pair, c *volumes.Copying) { c.Now = c.Now.Add(stale + time.Minute) },
		"it waits for a word":          func(_ *volumes.Pair, c *volumes.Copying) { c.Asked.Cutover = api.CutoverManual },
	} {
		t.Run(name, func(t *testing.T) {
			if a := ahead(pair, change).Action; a == nil || a.Verb != volumes.DeleteMover || a.Copy.Role != volumes.RoleSender {
				t.Errorf("got %+v", a)
			}
		})
	}
	if got := ahead(pair, func(*volumes.Pair, *volumes.Copying) {}); !got.Done() {
		t.Errorf("they are deleted although nothing has changed: %+v", got)
	}
}

// TestNoStandby: nothing stands by for an ordinal whose turn has not come, or that goes back without a copy. A sender
// is not created beside a pod that is not Ready.
func TestNoStandby(t *testing.T) {
	pair := until(t, func(w *world) bool {
		return w.Record.Warm.Passes > 0 && (Copy{}).Ahead(w.Pair(), volumes.Warm).Done()
	}).Pair()
	for name, change := range map[string]func(*volumes.Pair, *volumes.Copying){
		"it is early":         func(_ *volumes.Pair, c *volumes.Copying) { c.Early = true },
		"it is down as it is": func(_ *volumes.Pair, c *volumes.Copying) { c.Down = true },
		"it has turned round": func(_ *volumes.Pair, c *volumes.Copying) { c.Back = true },
	} {
		t.Run(name, func(t *testing.T) {
			if got := standby(pair, change); !got.Done() {
				t.Errorf("got %+v", got)
			}
		})
	}
	first := standby(pair, func(_ *volumes.Pair, c *volumes.Copying) { c.Receiver, c.Sender = volumes.Mover{}, volumes.Mover{} }).Action
	if first == nil || first.Verb != volumes.CreateMover || first.Copy.Role != volumes.RoleReceiver || first.Copy.Warm {
		t.Fatalf("first %+v", first)
	}
	starts := func(ready bool) func(*volumes.Pair, *volumes.Copying) {
		return func(_ *volumes.Pair, c *volumes.Copying) {
			c.Receiver, c.Sender = volumes.Mover{Found: true, UID: "r", Attempt: c.Attempt.Number, Pass: 1, Fence: pair.Fence}, volumes.Mover{}
			c.Pod.Ready = ready
		}
	}
	then := standby(pair, starts(true)).Action
	if then == nil || then.Verb != volumes.CreateMover || then.Copy.Role != volumes.RoleSender || then.Ref != pair.Giver.Ref || then.Copy.Node != pair.Copy.Pod.Node || then.Copy.Warm {
		t.Errorf("the sender does not start at the same time: %+v", then)
	}
	if got := standby(pair, starts(false)); got.Action != nil || got.Waits == "" {
		t.Errorf("beside a pod that is not Ready: %+v", got)
	}
}

// TestStandDown: in a pause, or while a gate is closed, nothing stands by. After the stop both movers stay, unless the
// sender holds the attachment that the release waits for.
func TestStandDown(t *testing.T) {
	pair := until(t, ready).Pair()
	withdraw := func(change func(*volumes.Pair, *volumes.Copying)) volumes.Verdict {
		seen, pair := *pair.Copy, pair
		pair.Copy = &seen
		change(&pair, &seen)
		return Copy{}.Ahead(pair, volumes.Withdrawn)
	}
	attached := func(p *volumes.Pair, c *volumes.Copying) {
		c.Stopped, p.Giver.Volume.Attachments = true, make([]volumes.Attachment, 1)
	}
	for name, tc := range map[string]struct {
		change func(*volumes.Pair, *volumes.Copying)
		want   volumes.Role
	}{
		"the ordinal runs":            {func(*volumes.Pair, *volumes.Copying) {}, volumes.RoleSender},
		"the sender is Terminating":   {func(_ *volumes.Pair, c *volumes.Copying) { c.Sender.Terminating = true }, volumes.RoleReceiver},
		"the ordinal is stopped":      {func(_ *volumes.Pair, c *volumes.Copying) { c.Stopped = true }, ""},
		"stopped, and it is attached": {attached, volumes.RoleSender},
		"and it was taken away": {func(p *volumes.Pair, c *volumes.Copying) {
			attached(p, c)
			p.Giver.Volume.ClaimRef = c.Outgoing.Ref
		}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			got := withdraw(tc.change)
			if a := got.Action; tc.want == "" && !got.Done() || tc.want != "" && (a == nil || a.Verb != volumes.DeleteMover || a.Copy.Role != tc.want) {
				t.Errorf("got %+v", got)
			}
		})
	}
}

// TestSenderThatCannotServe: a sender that has not mounted its volume before that was taken away, or does not know its
// receiver, is replaced by another one on the outgoing claim.
func TestSenderThatCannotServe(t *testing.T) {
	pair := until(t, func(w *world) bool {
		h := volumes.HandingOf(w.Pair())
		return w.Runs == volumestest.Nowhere && h.Giver.Volume.Released != "" && h.Sender.Found && h.Receiver.Peer == ""
	}).Pair()
	if got := transfer(pair, func(*volumes.Copying) {}).Action; got == nil || got.Verb != volumes.TellMover || got.Copy.Role != volumes.RoleReceiver || got.Copy.Peer != pair.Copy.Sender.Key {
		t.Fatalf("it can: %+v", got)
	}
	bound := func(c *volumes.Copying) {
		c.Outgoing.Claim = volumes.Claim{Found: true, Ours: true, UID: "out", Volume: c.Outgoing.Volume.Name, Phase: "Bound"}
		c.Outgoing.Volume.ClaimRef.UID = "out"
	}
	for name, change := range map[string]func(*volumes.Copying){
		"it has mounted nothing":        func(c *volumes.Copying) { c.Sender.Key, c.Sender.Peer = "", "" },
		"it was told nothing":           func(c *volumes.Copying) { c.Sender.Peer = "" },
		"it is going":                   func(c *volumes.Copying) { c.Sender.Terminating = true },
		"it does not exist":             func(c *volumes.Copying) { c.Sender = volumes.Mover{} },
		"its receiver does not exist":   func(c *volumes.Copying) { c.Receiver = volumes.Mover{} },
		"its receiver is being created": func(c *volumes.Copying) { c.Receiver.Key = "" },
	} {
		t.Run(name, func(t *testing.T) {
			if got := transfer(pair, change).Action; got == nil || got.Verb != volumes.CreateOutgoing {
				t.Errorf("first: %+v", got)
			}
			pair := pair
			pair.Giver.Volume.ClaimRef.UID = "out"
			got := transfer(pair, func(c *volumes.Copying) { bound(c); change(c) })
			if a := got.Action; a != nil && a.Verb == volumes.TellMover {
				t.Errorf("it is introduced: %+v", a)
			}
		})
	}
}

// TestMoversDieWhileItIsDown: whichever mover dies, at whatever moment between the stop and the start, the ordinal
// starts on its data, without a mover (I2, I3).
func TestMoversDieWhileItIsDown(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld()
		w.attaches = rapid.Bool().Draw(t, "attached")
		for w.Runs != volumestest.Nowhere {
			w.Step(t)
		}
		for range rapid.IntRange(0, 25).Draw(t, "steps") {
			if w.Runs == volumestest.Nowhere {
				w.Step(t)
			}
		}
		if m := w.movers[volumestest.AnyOf(t, w.movers)]; m != nil && w.Runs == volumestest.Nowhere {
			if !m.Ended {
				m.Ended, m.EndedAt, m.ResourceVersion = true, w.Now, w.Next()
			}
			if rapid.Bool().Draw(t, "and its pod is deleted") {
				delete(w.movers, PodName(m.role, w.Places[m.side].Ref, owner, w.Record.Number))
			}
		}
		for range 400 {
			if w.Runs != volumestest.Nowhere {
				return
			}
			w.Step(t)
		}
		t.Fatalf("it does not start: %+v", w.Pair().Copy)
	})
}

// TestQuiet: a mover that was created late, after the seal, is deleted before the copy is taken over, and before the
// ordinal starts. One that has ended is not waited for.
func TestQuiet(t *testing.T) {
	pair := until(t, sealed).Pair()
	if got := transfer(pair, func(*volumes.Copying) {}).Action; got == nil || got.Verb != volumes.Park {
		t.Fatalf("both have ended: %+v", got)
	}
	for _, role := range []volumes.Role{volumes.RoleReceiver, volumes.RoleSender, volumes.RoleWarm} {
		late := func(c *volumes.Copying) {
			m := volumes.Mover{Found: true, UID: "late", Attempt: c.Attempt.Number, Pass: 1}
			switch role {
			case volumes.RoleReceiver:
				c.Receiver = m
			case volumes.RoleSender:
				c.Sender = m
			default:
				c.Warm = m
			}
		}
		if got := transfer(pair, late).Action; got == nil || got.Verb != volumes.DeleteMover || got.Copy.Role != role {
			t.Errorf("a late %s: %+v", role, got)
		}
		going := func(c *volumes.Copying) {
			late(c)
			c.Receiver.Terminating, c.Sender.Terminating, c.Warm.Terminating = !c.Receiver.Ended, !c.Sender.Ended, true
		}
		if got := transfer(pair, going); got.Action != nil || !strings.Contains(got.Waits, "is deleted") {
			t.Errorf("a late %s that is being deleted: %+v", role, got)
		}
	}
	if t.Failed() {
		return
	}
	parked := until(t, func(w *world) bool {
		return w.Runs == volumestest.Nowhere && volumes.HandingOf(w.Pair()).Taken() && (Copy{}).Transfer(w.Pair()).Done()
	}).Pair()
	if got := transfer(parked, func(c *volumes.Copying) {
		c.Sender = volumes.Mover{Found: true, UID: "late", Attempt: c.Attempt.Number, Pass: 1}
	}).Action; got == nil || got.Verb != volumes.DeleteMover || got.Copy.Role != volumes.RoleSender {
		t.Errorf("a late sender after the take-over: %+v", got)
	}
}

// TestClaimEnds: the sender beside the ordinal's pod is deleted when it has ended, and not waited for, if it names a claim
// that is being deleted.
func TestClaimEnds(t *testing.T) {
	pair := until(t, sealed).Pair()
	for name, tc := range map[string]struct {
		change func(*volumes.Copying)
		want   bool
	}{
		"the claim stays":          {func(c *volumes.Copying) { c.ClaimEnds = false }, false},
		"it ends":                  {func(*volumes.Copying) {}, true},
		"the sender is going":      {func(c *volumes.Copying) { c.Sender.Terminating = true }, false},
		"it is on another claim":   {func(c *volumes.Copying) { c.Sender.Claim = c.Outgoing.Ref.Name }, false},
		"it does not exist":        {func(c *volumes.Copying) { c.Sender = volumes.Mover{} }, false},
		"the receiver was deleted": {func(c *volumes.Copying) { c.Receiver = volumes.Mover{} }, true},
	} {
		for _, goal := range []volumes.Goal{volumes.Filled, volumes.Halted} {
			t.Run(fmt.Sprintf("%s, goal %d", name, goal), func(t *testing.T) {
				pair, seen := pair, *pair.Copy
				pair.Copy, seen.ClaimEnds = &seen, true
				tc.change(&seen)
				got := Copy{}.Ahead(pair, goal)
				if a := got.Action; tc.want != (a != nil) || !tc.want && !got.Done() || tc.want && (a.Verb != volumes.DeleteMover || a.Copy.Role != volumes.RoleSender) {
					t.Errorf("got %+v", got)
				}
			})
		}
	}
}

// TestSendsLate: a warning says before the move that the last sender starts after the stop, and what that costs.
func TestSendsLate(t *testing.T) {
	pair := newWorld().Pair()
	for name, tc := range map[string]struct {
		change func(*volumes.Pair, *volumes.CopyAsked)
		says   string
	}{
		"as usual": {func(*volumes.Pair, *volumes.CopyAsked) {}, ""},
		"attached": {func(p *volumes.Pair, _ *volumes.CopyAsked) {
			p.Giver.Volume.Attachments = []volumes.Attachment{{Node: "node-1"}}
		}, "node-1"},
		"from a snapshot": {func(_ *volumes.Pair, a *volumes.CopyAsked) { a.Warm = api.CopyWarmSnapshot }, "snapshot"},
		"nothing is warm": {func(_ *volumes.Pair, a *volumes.CopyAsked) { a.Warm = api.CopyWarmNone }, ""},
		"for one pod, attached": {func(p *volumes.Pair, _ *volumes.CopyAsked) {
			p.Giver.Claim.OncePod = true
			p.Giver.Volume.Attachments = []volumes.Attachment{{Node: "node-1"}}
		}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			pair, seen := pair, *pair.Copy
			pair.Copy = &seen
			tc.change(&pair, &seen.Asked)
			at := slices.IndexFunc(warned(pair), func(r volumes.Reason) bool { return r.Reason == volumes.ReasonCopySendsLate })
			if (at >= 0) != (tc.says != "") || at >= 0 && !strings.Contains(warned(pair)[at].Message, tc.says) {
				t.Errorf("got %+v", warned(pair))
			}
		})
	}
}
