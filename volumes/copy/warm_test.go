package copy

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/volumes"
	"github.com/sliceshift/sliceshift/volumes/internal/volumestest"
)

// warming reports whether both movers of a warm pass know each other.
func warming(w *world) bool {
	seen := w.Pair().Copy
	return w.Runs == w.Giver && seen.Receiver.Peer != "" && seen.Warm.Peer != ""
}

func ahead(pair volumes.Pair, change func(*volumes.Pair, *volumes.Copying)) volumes.Verdict {
	seen := *pair.Copy
	pair.Copy = &seen
	change(&pair, &seen)
	return Copy{}.Ahead(pair, volumes.Warm)
}

// TestWarmSenderGoes: a pod that reads beside the ordinal's own is deleted as soon as that pod is not there to
// stay. Another one is created only beside a healthy pod.
func TestWarmSenderGoes(t *testing.T) {
	pair := until(t, warming).Pair()
	if a := pair.Copy.Warm; a.Node != pair.Copy.Pod.Node || !a.Warm {
		t.Errorf("the warm sender is %+v", a)
	}
	for name, change := range map[string]func(*volumes.CopyPod){
		"it is gone":                     func(p *volumes.CopyPod) { *p = volumes.CopyPod{} },
		"it is Terminating":              func(p *volumes.CopyPod) { p.Terminating = true },
		"it has no node yet":             func(p *volumes.CopyPod) { p.Node = "" },
		"M-090: it runs on another node": func(p *volumes.CopyPod) { p.Node = "another" },
	} {
		t.Run(name, func(t *testing.T) {
			got := ahead(pair, func(_ *volumes.Pair, c *volumes.Copying) { change(&c.Pod) })
			if a := got.Action; a == nil || a.Verb != volumes.DeleteMover || a.Copy.Role != volumes.RoleWarm || !a.AtGiver {
				t.Errorf("got %+v", got)
			}
		})
	}
	unready := func(_ *volumes.Pair, c *volumes.Copying) { c.Pod.Ready = false }
	if got := ahead(pair, unready); got.Action != nil || got.Look != warmLook {
		t.Errorf("one that runs already: %+v", got)
	}
	if got := ahead(pair, func(p *volumes.Pair, c *volumes.Copying) {
		c.Warm, c.Receiver.Peer = volumes.Mover{}, ""
		unready(p, c)
	}); got.Action != nil || !strings.Contains(got.Waits, "Ready") {
		t.Errorf("a new one: %+v", got)
	}
}

// TestWarmCopyIsLost: an ordinal is not stopped after warm passes whose volume was deleted since: it would be
// down for its whole copy.
func TestWarmCopyIsLost(t *testing.T) {
	pair := until(t, func(w *world) bool {
		return w.Record.Warm.Passes > 0 && (Copy{}).Ahead(w.Pair(), volumes.Warm).Done()
	}).Pair()
	for name, change := range map[string]func(*volumes.Claim){
		"its claim is gone":        func(c *volumes.Claim) { *c = volumes.Claim{} },
		"its claim is Terminating": func(c *volumes.Claim) { c.Terminating = true },
		"its volume is gone":       func(c *volumes.Claim) { c.Phase = corev1.ClaimLost },
	} {
		t.Run(name, func(t *testing.T) {
			got := ahead(pair, func(_ *volumes.Pair, c *volumes.Copying) {
				c.Receiver, c.Sender = volumes.Mover{}, volumes.Mover{}
				change(&c.Incoming.Claim)
			})
			if got.Attempt == nil || got.Attempt.Warm.Passes != 0 && !got.Attempt.Dropped {
				t.Errorf("got %+v", got)
			}
		})
	}
}

// TestWithdraw: in a pause both movers of a warm pass are deleted, and those of the last pass are not.
func TestWithdraw(t *testing.T) {
	pair := until(t, warming).Pair()
	t.Run("M-047: of a warm pass", func(t *testing.T) {
		first := Copy{}.Ahead(pair, volumes.Withdrawn).Action
		if first == nil || first.Verb != volumes.DeleteMover || first.Copy.Role != volumes.RoleWarm {
			t.Fatalf("got %+v", first)
		}
		pair.Copy.Warm.Terminating = true
		if then := (Copy{}).Ahead(pair, volumes.Withdrawn).Action; then == nil || then.Copy.Role != volumes.RoleReceiver {
			t.Errorf("got %+v", then)
		}
	})
	t.Run("M-047: of the last pass", func(t *testing.T) {
		if got := (Copy{}).Ahead(untilIn(t, attached, introduced).Pair(), volumes.Withdrawn); !got.Done() {
			t.Errorf("got %+v", got)
		}
	})
}

// TestWhereNothingIsWarm: if no second pod may mount the claim, or the user disabled warm passes, the ordinal
// is stopped for the whole copy. If a warm pass is requested, nothing is stopped before one has ended well.
func TestWhereNothingIsWarm(t *testing.T) {
	pair := newWorld().Pair()
	for name, tc := range map[string]struct {
		change func(*volumes.Pair, *volumes.Copying)
		warm   bool
	}{
		"as it is":  {func(*volumes.Pair, *volumes.Copying) {}, true},
		"asked for": {func(_ *volumes.Pair, c *volumes.Copying) { c.Asked.Warm = api.CopyWarmAuto }, true},
		"one pod at once, a word": {func(p *volumes.Pair, c *volumes.Copying) {
			p.Giver.Claim.OncePod, c.Asked.Warm = true, api.CopyWarmMount
		}, true},
		"none is wanted":            {func(_ *volumes.Pair, c *volumes.Copying) { c.Asked.Warm = api.CopyWarmNone }, false},
		"the node has refused it":   {func(_ *volumes.Pair, c *volumes.Copying) { c.Attempt.Number, c.Attempt.Warm.Refused = 1, "no" }, false},
		"it is down, and goes back": {func(_ *volumes.Pair, c *volumes.Copying) { c.Down = true }, false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := ahead(pair, tc.change); got.Done() == tc.warm {
				t.Errorf("got %+v", got)
			}
		})
	}
}

// TestOncePod: for a claim that no second pod can mount, a warning says in advance that it is copied when its
// ordinal is stopped, and that is recorded.
func TestOncePod(t *testing.T) {
	pair := newWorld().Pair()
	if got := warned(pair); len(got) != 0 {
		t.Errorf("as it is: %+v", got)
	}
	pair.Giver.Claim.OncePod = true
	if got := warned(pair); len(got) != 1 || got[0].Reason != volumes.ReasonCopyCold || !strings.Contains(got[0].Message, "east/data-web-0") {
		t.Errorf("one pod at once: %+v", got)
	}
	pair.Copy.Attempt.Number = 1
	next := Copy{}.Ahead(pair, volumes.Warm).Attempt
	if next == nil || !strings.Contains(next.Warm.Refused, "ReadWriteOncePod") {
		t.Fatalf("got %+v", next)
	}
	pair.Copy.Attempt = *next
	if got := (Copy{}).Ahead(pair, volumes.Warm); !got.Done() {
		t.Errorf("recorded: %+v", got)
	}
	pair.Copy.Asked.Warm = api.CopyWarmNone
	if got := warned(pair); len(got) != 0 {
		t.Errorf("a person has said so: %+v", got)
	}
}

// TestColdAsksToo: with a manual cutover, an ordinal that was not copied while it ran is not stopped without
// confirmation either.
func TestColdAsksToo(t *testing.T) {
	pair := newWorld().Pair()
	pair.Copy.Asked.Warm, pair.Copy.Asked.Cutover = api.CopyWarmNone, api.CutoverManual
	if got := (Copy{}).Ahead(pair, volumes.Warm).Hold; got == nil || got.Reason != volumes.ReasonCopyAwaitsWord || !strings.Contains(got.Message, "whole copy") {
		t.Errorf("got %+v", got)
	}
	pair.Copy.Asked.Cutover, pair.Copy.Asked.CutoverAt = api.CutoverAt, pair.Copy.Now.Add(time.Minute)
	if got := (Copy{}).Ahead(pair, volumes.Warm); got.Look != atLook || !strings.Contains(got.Waits, "whole copy") {
		t.Errorf("before its time: %+v", got)
	}
	pair.Copy.Now = pair.Copy.Asked.CutoverAt
	if got := (Copy{}).Ahead(pair, volumes.Warm); !got.Done() {
		t.Errorf("its time has come: %+v", got)
	}
	pair.Copy.Asked.Cutover = api.CutoverManual
	pair.Copy.Returns = true
	if got := (Copy{}).Ahead(pair, volumes.Warm); !got.Done() {
		t.Errorf("it goes back: %+v", got)
	}
}

// TestRefused: a warm sender that does not get its volume, as its cluster reports, is abandoned, unless the
// user requested warm passes explicitly.
func TestRefused(t *testing.T) {
	pair := until(t, warming).Pair()
	stuck := func(mode api.CopyWarmMode, since time.Duration, says string) volumes.Verdict {
		return ahead(pair, func(_ *volumes.Pair, c *volumes.Copying) {
			c.Asked.Warm, c.Warm.Key, c.Warm.Peer, c.Receiver.Peer = mode, "", "", ""
			c.Warm.Made, c.Warm.Refuses = c.Now.Add(-since), says
		})
	}
	if got := stuck(api.CopyWarmAuto, unmounted-time.Second, "Multi-Attach"); got.Attempt != nil || got.Waits == "" {
		t.Errorf("not for long: %+v", got)
	}
	if got := stuck("", unmounted, "Multi-Attach").Attempt; got == nil || got.Warm.Refused != "Multi-Attach" {
		t.Errorf("Auto: %+v", got)
	}
	if got := stuck(api.CopyWarmMount, unmounted, "Multi-Attach").Hold; got == nil || got.Reason != volumes.ReasonCopyNotWarm || !strings.Contains(got.Message, "Multi-Attach") {
		t.Errorf("Mount: %+v", got)
	}
	t.Run("H5: age is not evidence", func(t *testing.T) {
		for _, mode := range []api.CopyWarmMode{"", api.CopyWarmAuto, api.CopyWarmMount} {
			if got := stuck(mode, 2*unmounted-time.Second, ""); got.Attempt == nil || got.Attempt.Warm.Refused != "" || got.Attempt.Warm.Trouble == "" || got.Hold != nil {
				t.Errorf("%q: %+v", mode, got)
			}
		}
	})
}

// TestH5ColdIsProjected: a claim that cannot be copied while its ordinal runs is copied when that is stopped.
// Without the user's request this happens only if the whole copy fits the downtime budget.
func TestH5ColdIsProjected(t *testing.T) {
	const tib = 1 << 40
	refused := func(needed int64, change func(*volumes.Copying)) volumes.Verdict {
		pair := newWorld().Pair()
		return ahead(pair, func(_ *volumes.Pair, c *volumes.Copying) {
			c.Attempt.Number, c.Attempt.Warm.Refused, c.Asked.Needed = 1, "Multi-Attach", needed
			if change != nil {
				change(c)
			}
		})
	}
	got := refused(2*tib, nil).Hold
	if got == nil || got.Reason != volumes.ReasonCopyOverBudget || !strings.Contains(got.Message, "Multi-Attach") || !strings.Contains(got.Message, "2Ti") {
		t.Errorf("2 TiB within 30 s: %+v", got)
	}
	for _, word := range []string{"warm=none", "downtime=", "cutover=now", "warm=mount"} {
		if got != nil && !strings.Contains(got.Remedy, word) {
			t.Errorf("the remedy has no %s: %s", word, got.Remedy)
		}
	}
	for name, verdict := range map[string]volumes.Verdict{
		"little":           refused(100<<20, nil),
		"nobody has said":  refused(0, nil),
		"it may be down":   refused(2*tib, func(c *volumes.Copying) { c.Asked.Budget = 48 * time.Hour }),
		"a person says so": refused(2*tib, func(c *volumes.Copying) { c.Asked.Warm = api.CopyWarmNone }),
		"and when":         refused(2*tib, func(c *volumes.Copying) { c.Asked.Cutover = api.CutoverNow }),
		"it goes back":     refused(2*tib, func(c *volumes.Copying) { c.Returns = true }),
		"it is down":       refused(2*tib, func(c *volumes.Copying) { c.Down = true }),
	} {
		if !verdict.Done() {
			t.Errorf("%s: %+v", name, verdict)
		}
	}
}

// TestRefusedForItsImage: a mover that cannot start for another reason than its volume is not treated as
// refused. Otherwise the ordinal would be stopped, and no mover could read its data.
func TestRefusedForItsImage(t *testing.T) {
	got := ahead(until(t, warming).Pair(), func(_ *volumes.Pair, c *volumes.Copying) {
		c.Warm.Key, c.Warm.Peer, c.Receiver.Peer, c.Warm.Broken = "", "", "", true
		c.Warm.Made, c.Warm.Trouble = c.Now.Add(-unmounted), "its container key waits (ErrImagePull)"
	}).Attempt
	if got == nil || got.Warm.Refused != "" || !strings.Contains(got.Warm.Trouble, "ErrImagePull") {
		t.Errorf("got %+v", got)
	}
}

// TestStuck: if no pass is possible for long, the pods' reports are shown to the user, and it is retried. The
// report ends once both movers have known each other for a while.
func TestStuck(t *testing.T) {
	pair := until(t, warming).Pair()
	keyless := func(m *volumes.Mover, c *volumes.Copying, since time.Duration) {
		*m = volumes.Mover{Found: true, UID: "m", Attempt: m.Attempt, Pass: m.Pass, Warm: true, Fence: m.Fence, Made: c.Now.Add(-since), Trouble: "its container key waits (ImagePullBackOff)"}
	}
	receiver := func(since time.Duration) func(*volumes.Pair, *volumes.Copying) {
		return func(_ *volumes.Pair, c *volumes.Copying) { keyless(&c.Receiver, c, since); c.Warm = volumes.Mover{} }
	}
	known := func(since time.Duration, change func(*volumes.Pair, *volumes.Copying)) func(*volumes.Pair, *volumes.Copying) {
		return func(p *volumes.Pair, c *volumes.Copying) {
			c.Attempt.Warm.TroubleSince, c.Attempt.Warm.Trouble = metav1.NewTime(c.Now.Add(-since)), "the warm pod x failed: no route to host"
			change(p, c)
		}
	}
	made := func(since time.Duration) func(*volumes.Pair, *volumes.Copying) {
		return func(_ *volumes.Pair, c *volumes.Copying) {
			c.Receiver.Made, c.Warm.Made = c.Now.Add(-since), c.Now.Add(-since)
		}
	}
	failing := func(_ *volumes.Pair, c *volumes.Copying) {
		c.Warm.Ended, c.Warm.EndedAt, c.Warm.Result.Message = true, c.Now, "no route to host"
	}
	const waits, records, stuck, removes = "it waits", "it is recorded", volumes.ReasonCopyStuck, "DeleteMover"
	for name, tc := range map[string]struct {
		change func(*volumes.Pair, *volumes.Copying)
		want   string
		says   string
	}{
		"it has not started for a while":    {receiver(unmounted - time.Second), waits, "ImagePullBackOff"},
		"for long":                          {receiver(unmounted), records, "ImagePullBackOff"},
		"M-095: for long, and it is known":  {known(unmounted, receiver(unmounted)), stuck, "ImagePullBackOff"},
		"for so long that it is made anew":  {known(anew, receiver(anew)), removes, ""},
		"it was made anew":                  {known(anew, receiver(0)), stuck, "ImagePullBackOff"},
		"the ordinal's own pod is not well": {known(anew, func(p *volumes.Pair, c *volumes.Copying) { receiver(0)(p, c); c.Pod.Ready = false }), waits, "Ready"},
		"no node takes the sender": {func(_ *volumes.Pair, c *volumes.Copying) {
			keyless(&c.Warm, c, unmounted)
			c.Receiver.Peer = ""
		}, records, "the warm pod"},
		"M-086: nobody can reach it": {func(_ *volumes.Pair, c *volumes.Copying) {
			c.Entrance.Address, c.Receiver.Made, c.Receiver.Peer, c.Warm = "", c.Now.Add(-unmounted), "", volumes.Mover{}
		}, records, "no address"},
		"it has failed":                     {failing, records, "no route"},
		"it fails for a while":              {known(unmounted-time.Second, made(0)), waits, "has ended"},
		"M-086: it fails for long":          {known(unmounted, made(0)), stuck, "no route to host"},
		"they know each other for a moment": {known(anew, made(heard-time.Second)), stuck, "no route to host"},
		"they reach each other":             {known(anew, made(heard)), waits, "has ended"},
	} {
		t.Run(name, func(t *testing.T) {
			got, have, said := ahead(pair, tc.change), "", ""
			switch {
			case got.Hold != nil:
				have, said = got.Hold.Reason, got.Hold.Message
			case got.Attempt != nil:
				have, said = records, got.Attempt.Warm.Trouble
			case got.Waits != "":
				have, said = waits, got.Waits
			case got.Action != nil:
				have = string(got.Action.Verb)
			}
			if have != tc.want || !strings.Contains(said, tc.says) {
				t.Errorf("%s, %q: %+v", have, said, got)
			}
		})
	}
	done := ahead(pair, known(anew, func(_ *volumes.Pair, c *volumes.Copying) {
		c.Warm.Ended, c.Warm.Result.Done, c.Receiver.Ended, c.Receiver.Result.Done = true, true, true, true
	})).Attempt
	if done == nil || done.Warm.Trouble != "" || !done.Warm.TroubleSince.IsZero() {
		t.Errorf("a pass has ended well: %+v", done)
	}
}

// TestWarmed: the result of a warm pass is recorded, is no seal, and expires.
func TestWarmed(t *testing.T) {
	pair := until(t, warming).Pair()
	result := volumes.MoverResult{Done: true, Root: "r", Bytes: 100, Files: 3, Written: 40, Seconds: 7}
	ended := func(_ *volumes.Pair, c *volumes.Copying) {
		c.Warm.Ended, c.Warm.Result, c.Receiver.Ended, c.Receiver.Result = true, result, true, result
	}
	next := ahead(pair, ended).Attempt
	if next == nil || next.Seal.Root != "" {
		t.Fatalf("got %+v", next)
	}
	want := api.CopyWarm{Passes: 1, Ended: metav1.NewTime(pair.Copy.Now), Bytes: 100, Files: 3, Written: 40, Seconds: 7}
	if next.Warm != want {
		t.Errorf("got %+v, want %+v", next.Warm, want)
	}
	after := func(since time.Duration, seconds int64) volumes.Verdict {
		return ahead(pair, func(_ *volumes.Pair, c *volumes.Copying) {
			c.Attempt.Warm, c.Warm, c.Receiver = want, volumes.Mover{}, volumes.Mover{}
			c.Attempt.Warm.Seconds, c.Now = seconds, c.Now.Add(since)
		})
	}
	if got := after(stale, 7); !got.Done() {
		t.Errorf("soon after it: %+v", got)
	}
	if got := after(stale+time.Second, 7).Action; got == nil || got.Verb != volumes.CreateMover || got.Copy.Pass != 2 || !got.Copy.Warm || got.Copy.Content {
		t.Errorf("long after it: %+v", got)
	}
	if got := after(stale+time.Second, 3600); !got.Done() {
		t.Errorf("after one that has taken long: %+v", got)
	}
	if got := after(time.Hour+time.Second, 3600).Action; got == nil || got.Verb != volumes.CreateMover {
		t.Errorf("longer after it than it has taken: %+v", got)
	}
}

// TestSealIsForgotten: an ordinal that has run since its copy was sealed is copied and sealed again.
func TestSealIsForgotten(t *testing.T) {
	pair := until(t, warming).Pair()
	got := ahead(pair, func(_ *volumes.Pair, c *volumes.Copying) { c.Attempt.Seal.Root, c.Attempt.Passes = "r", 2 }).Attempt
	if got == nil || got.Seal.Root != "" || got.Passes != 0 || got.Number != pair.Copy.Attempt.Number {
		t.Errorf("got %+v", got)
	}
}

// TestMoversAtTheStop: when the ordinal is stopped, a warm pass has ended, and both movers of the last pass stand by.
func TestMoversAtTheStop(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld()
		for range 60 {
			if w.Runs == volumestest.Nowhere {
				if seen := w.Pair().Copy; len(w.movers) != 2 || seen.Receiver.Key == "" || seen.Sender.Peer != seen.Receiver.Key || w.Record.Warm.Passes == 0 {
					t.Fatalf("stopped with %v, after %+v", w.names(), w.Record.Warm)
				}
				return
			}
			w.Step(t)
		}
		t.Fatal("it is never stopped")
	})
}

// TestWarmMoverIsOfNoLastPass: once the ordinal is down, a mover that was created for a warm pass is deleted,
// whatever it reports, even if the number of its pass is the one that is due. The ordinal has written since.
func TestWarmMoverIsOfNoLastPass(t *testing.T) {
	pair := untilIn(t, attached, introduced).Pair()
	for _, role := range []volumes.Role{volumes.RoleReceiver, volumes.RoleSender} {
		for name, says := range map[string]volumes.MoverResult{"it runs": {}, "it has ended": {Done: true, Root: "root"}} {
			t.Run(string(role)+", "+name, func(t *testing.T) {
				got := transfer(pair, func(c *volumes.Copying) {
					if says.Done {
						end(says, says)(c)
					}
					m := map[volumes.Role]*volumes.Mover{volumes.RoleReceiver: &c.Receiver, volumes.RoleSender: &c.Sender}[role]
					m.Warm = true
				})
				if a := got.Action; a == nil || a.Verb != volumes.DeleteMover || a.Copy.Role != role {
					t.Errorf("got %+v", got)
				}
			})
		}
	}
}

// TestReceiverComesAfter: no receiver is created before the ordinal's claim that comes first has its volume,
// unless this one's volume exists. The first volume decides where this one may be.
func TestReceiverComesAfter(t *testing.T) {
	pair := until(t, func(w *world) bool {
		action := (Copy{}).Ahead(w.Pair(), volumes.Warm).Action
		return action != nil && action.Verb == volumes.CreateMover && action.Copy.Role == volumes.RoleReceiver
	}).Pair()
	pair.Copy.Beside.Unplaced = "in-first"
	if got := (Copy{}).Ahead(pair, volumes.Warm); got.Action == nil || got.Action.Verb != volumes.CreateMover {
		t.Errorf("where it has its own volume: %+v", got)
	}
	pair.Copy.Incoming.Claim.Phase, pair.Copy.Incoming.Volume = corev1.ClaimPending, volumes.Volume{}
	if got := (Copy{}).Ahead(pair, volumes.Warm); got.Action != nil || !strings.Contains(got.Waits, "in-first") {
		t.Errorf("got %+v", got)
	}
	pair.Copy.Beside = volumes.Beside{Taken: []string{"pv-first"}}
	if got := (Copy{}).Ahead(pair, volumes.Warm); got.Action == nil || got.Action.Verb != volumes.CreateMover {
		t.Errorf("once it has its volume: %+v", got)
	}
}

// TestWarmPassIsMeasured: the bytes that a warm pass has written give the rate of the last one.
func TestWarmPassIsMeasured(t *testing.T) {
	pair := until(t, func(w *world) bool { return w.Pair().Copy.Warm.Peer != "" }).Pair()
	seen := *pair.Copy
	for _, m := range []*volumes.Mover{&seen.Receiver, &seen.Warm} {
		m.Ended, m.Result = true, volumes.MoverResult{Done: true, Written: 10 * telling, Seconds: 5}
	}
	pair.Copy = &seen
	if got := (Copy{}).Ahead(pair, volumes.Warm); got.Attempt == nil || got.Attempt.Warm.Rate != 2*telling {
		t.Errorf("got %+v", got.Attempt)
	}
}
