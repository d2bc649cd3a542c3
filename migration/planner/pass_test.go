package planner_test

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/intstr"
	"pgregory.net/rapid"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/migration/plan/plantest"
	"github.com/sliceshift/sliceshift/migration/planner"
	"github.com/sliceshift/sliceshift/migration/simulate"
	"github.com/sliceshift/sliceshift/pdb/pdbtest"
	"github.com/sliceshift/sliceshift/volumes"
)

// enough is a sufficient number of passes for any migration of these tests.
const enough = 1000

// drive is a process that drives a migration in a world in which nothing fails, except as answer returns for a
// step that was carried out.
type drive struct {
	// unseen is true while the caches show none of the writes.
	unseen bool
	planner.State
	world  *simulate.World
	answer func(planner.Step) planner.Kind
	// seen is called with the reads of each observation.
	seen func(planner.Reads)
	// check is called for each step, with the last reads.
	check func(planner.Step, planner.Reads)
}

func newDrive(s plan.Snapshot) *drive {
	return &drive{
		State: planner.State{Holder: "a"}, world: simulate.NewWorld(s),
		answer: func(planner.Step) planner.Kind { return planner.Landed }, check: func(planner.Step, planner.Reads) {}, seen: func(planner.Reads) {},
	}
}

// scenario has three ordinals with a volume each.
func scenario() plan.Snapshot {
	return plantest.Scenario{Replicas: 3, Templates: []string{"data"}, Budget: pdbtest.MaxUnavailable(1)}.Build()
}

// block has four ordinals with a volume each, which move by twos.
func block() plan.Snapshot {
	c := plantest.Scenario{Replicas: 4, Templates: []string{"data"}, Budget: pdbtest.MaxUnavailable(2)}
	c.Spec.MaxInFlight = new(intstr.FromInt32(2))
	return c.Build()
}

// shown returns the version of every object in the caches.
func (d *drive) shown(string) string {
	if d.unseen {
		return ""
	}
	return "x"
}

// look performs the reads of a pass.
func (d *drive) look() planner.Step {
	now := d.world.State.Now
	step := d.Begin(now, d.world.State.Record, d.shown)
	var reads planner.Reads
	for step.Do == planner.Read {
		reads = step.Reads
		d.seen(reads)
		s := d.world.Read(reads)
		s.Record = step.Focus.Of(s.Record)
		step = d.Next(step, s)
	}
	d.check(step, reads)
	return step
}

// pass performs one pass and returns its first step that is not a read.
func (d *drive) pass(t fataler) planner.Step {
	engaged := d.Engaged
	first := d.look()
	if first.Snapshot.UID != "" && first.Snapshot.Engaged != engaged {
		t.Fatalf("a snapshot says engaged: %t", !engaged)
	}
	for step := first; step.Do != planner.Rest; {
		kind := d.answer(step)
		if kind == planner.Landed {
			d.land(t, step)
		}
		step = d.Answered(step, planner.Answer{Kind: kind, Object: "web", Version: d.world.NewVersion()}, d.world.State.Now)
		d.check(step, first.Reads)
	}
	d.world.Settle()
	d.world.State.Now = d.world.State.Now.Add(max(first.Decision.Wait, time.Second))
	return first
}

// fataler is a test, or a draw of one.
type fataler interface {
	Fatalf(format string, args ...any)
}

func (d *drive) land(t fataler, step planner.Step) {
	switch step.Do {
	case planner.Write:
		if err := d.world.Apply(*step.Decision.Effect); err != nil {
			t.Fatalf("%s: %v", step.Decision.Effect, err)
		}
	case planner.SaveRecord:
		given := planner.DestinationCount(d.world.State)
		d.world.State.Record = step.Decision.Record.Stored(d.world.State.Spec.Order)
		d.world.State.Record.Given = given
	default:
	}
}

// TestEveryDecisionIsCovered: nothing is written or concluded unless the last reads cover its required live reads,
// whatever the earlier answers (I1, I2). A fence is written only after its record was confirmed (I7).
func TestEveryDecisionIsCovered(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := newDrive(rapid.SampledFrom([]func() plan.Snapshot{scenario, block}).Draw(t, "scenario")())
		lossy := rapid.IntRange(0, 30).Draw(t, "answers until the first loss")
		answers := 0
		d.answer = func(planner.Step) planner.Kind {
			if answers++; answers%(lossy+2) != lossy+1 {
				return planner.Landed
			}
			return rapid.SampledFrom([]planner.Kind{planner.NoAnswer, planner.Changed, planner.Refused, planner.MissingRight, planner.NamespaceGone}).Draw(t, "answer")
		}
		var last planner.Do
		needed := func(step planner.Step) planner.Reads {
			if d.Refusals > 1 || len(d.Awaited) > 0 {
				return planner.For(step.Snapshot, step.Decision)
			}
			return planner.Lean(step.Snapshot, step.Decision)
		}
		d.check = func(step planner.Step, reads planner.Reads) {
			needsReads := step.Do == planner.Confirm || step.Do == planner.Write || step.Do == planner.SaveRecord
			if needsReads && last != planner.Confirm && !reads.Covers(needed(step)) {
				t.Fatalf("%+v was handed out on %+v", step.Decision, reads)
			}
			if effect := step.Decision.Effect; step.Do == planner.Write && (effect.Verb == plan.WriteFence) != (last == planner.Confirm) {
				t.Fatalf("%s after %d", effect, last)
			}
			if step.Snapshot.UID != "" && step.Snapshot.Holder != "a" {
				t.Fatal("a snapshot does not say who looks at it")
			}
			last = step.Do
		}
		for range rapid.IntRange(1, 80).Draw(t, "passes") {
			d.pass(t)
		}
		d.answer = func(planner.Step) planner.Kind { return planner.Landed }
		for range enough {
			if d.pass(t).Decision.Done == api.ReasonMoved {
				return
			}
		}
		t.Fatal("it does not end")
	})
}

// TestLeanOnlyOnGoodCaches: everything is read live for a write if the caches do not show this process's writes,
// and if its last write was refused (I1, I2, I6).
func TestLeanOnlyOnGoodCaches(t *testing.T) {
	d := newDrive(scenario())
	var reads planner.Reads
	d.check = func(_ planner.Step, last planner.Reads) { reads = last }
	readsOf := func(verb volumes.Verb) planner.Reads {
		for range enough {
			if e := d.look().Decision.Effect; e != nil && e.Volume.Verb == verb {
				return reads
			}
			d.pass(t)
		}
		t.Fatalf("no %s", verb)
		return planner.Reads{}
	}
	lean := readsOf(volumes.Park)
	if lean.Spared == (planner.Spared{}) {
		t.Errorf("all is read live: %+v", lean)
	}
	d.Refusals = 1
	if got := readsOf(volumes.Park); got.Spared != lean.Spared {
		t.Errorf("after one refusal, as a status makes it, %+v is left to the caches", got.Spared)
	}
	d.Refusals = 2
	if got := readsOf(volumes.Park); got.Spared != (planner.Spared{}) {
		t.Errorf("after two refusals %+v is left to the caches", got.Spared)
	}
	d.Refusals, d.Awaited = 0, []planner.Awaited{{Object: "web", Version: "7"}}
	d.unseen = true
	if got := readsOf(volumes.Park); got.Spared != (planner.Spared{}) {
		t.Errorf("on caches that are behind %+v is left to them", got.Spared)
	}
	d.unseen = false
	if got := readsOf(volumes.Park); got.Spared != lean.Spared {
		t.Errorf("once they have caught up, %+v is left to them", got.Spared)
	}
}

// TestReadsOnceMore: a new process without a pending write reads live once, and so does one that has not for a
// while. Objects that are read live for a write are not read before that as well.
func TestReadsOnceMore(t *testing.T) {
	d := newDrive(scenario())
	var reads planner.Reads
	d.check = func(_ planner.Step, last planner.Reads) { reads = last }
	d.world.State.Spec.Mode = api.ModePause
	for _, want := range []bool{true, false} {
		if d.look(); reads.Live != want {
			t.Errorf("live: %t, want %t", reads.Live, want)
		}
	}
	d.world.State.Now = plantest.Epoch.Add(planner.RequeueAtLatest)
	if d.look(); !reads.Live || !d.LastLiveRead.Equal(d.world.State.Now) {
		t.Error("caches are believed for ever")
	}
	before := d.world.State.Now
	d.world.State.Source.Reach = plan.Unreachable
	d.world.State.Now = before.Add(planner.RequeueAtLatest)
	if d.look(); !d.LastLiveRead.Equal(before) {
		t.Error("a side that did not answer was read")
	}
	d = newDrive(scenario())
	step := d.Begin(plantest.Epoch, plan.Record{}, d.shown)
	if step.Reads != (planner.Reads{}) {
		t.Errorf("before anything is decided, %+v is read", step.Reads)
	}
	if step = d.Next(step, d.world.Read(step.Reads)); !step.Reads.Wide {
		t.Errorf("of what begins a migration only %+v is read", step.Reads)
	}
}

// TestMostPassesAreNear: no pass reads all ordinals between an ordinal's stop and its arrival.
func TestMostPassesAreNear(t *testing.T) {
	d := newDrive(scenario())
	for range enough {
		handoff, source := d.world.State.Record.Handoff, d.world.State.Source.Set
		all := 0
		d.seen = func(reads planner.Reads) {
			if reads.Ordinal == nil {
				all++
			}
		}
		decision := d.pass(t).Decision
		if decision.Done != "" {
			return
		}
		if down := handoff != nil && !source.Has(handoff.Ordinal) && decision.Record == nil; down != (all == 0) {
			t.Errorf("%+v: all were looked at %d times", decision, all)
		}
	}
	t.Fatal("it does not end")
}

// TestNoneIsStoppedAfterALoss: a moved ordinal loses its disk while the next one is prepared for its stop. The
// next one is not stopped (I3), although only its own volumes were read until then.
func TestNoneIsStoppedAfterALoss(t *testing.T) {
	d := newDrive(scenario())
	for range enough {
		if handoff := d.world.State.Record.Handoff; handoff != nil && handoff.Ordinal == 1 {
			break
		}
		d.pass(t)
	}
	lost := &d.world.State.Volumes[2].Destination.Claim
	lost.UID, lost.Volume = "made anew", "empty"
	for range enough {
		step := d.pass(t)
		if hold := step.Decision.Hold; hold != nil && hold.Stalled {
			if hold.Reason != volumes.ReasonAnotherDisk {
				t.Errorf("%+v", hold)
			}
			break
		}
	}
	if !d.world.State.Source.Set.Has(1) {
		t.Error("ordinal 1 was stopped")
	}
}

// TestNearIsNotForEver: a process that waits for an ordinal in flight reads live once in a while, although no
// watched object has changed.
func TestNearIsNotForEver(t *testing.T) {
	d := newDrive(scenario())
	for range enough {
		if e := d.pass(t).Decision.Effect; e != nil && e.Verb == plan.ScaleUp {
			break
		}
	}
	pod, _ := d.world.State.Destination.Pod(2)
	pod.Ready = false
	d.world.State.Destination.SetPod(pod)
	d.LastLiveRead = d.world.State.Now
	for _, tc := range []struct {
		after time.Duration
		live  bool
	}{{0, false}, {planner.RequeueAtLatest - 1, false}, {planner.RequeueAtLatest, true}} {
		var last planner.Reads
		d.seen = func(reads planner.Reads) { last = reads }
		before := d.world.State.Now
		d.world.State.Now = before.Add(tc.after)
		step := d.look()
		if live := last.Spared.Sets == planner.NoSide; live != tc.live || step.Decision.Hold == nil {
			t.Errorf("after %s: %+v, live: %t", tc.after, step.Decision.Hold, live)
		}
		d.world.State.Now = before
	}
}

// TestWorldThatChangesMeanwhile: a pass in which each read shows another state ends without a decision.
func TestWorldThatChangesMeanwhile(t *testing.T) {
	d := newDrive(scenario())
	stops := map[int32]plan.Snapshot{}
	for len(stops) < 2 {
		before := d.world.Snapshot()
		if e := d.pass(t).Decision.Effect; e != nil && e.Verb == plan.ScaleDown {
			stops[e.Ordinal] = before
		}
	}
	step := d.Begin(d.world.State.Now, d.world.State.Record, d.shown)
	reads := 0
	for ; step.Do == planner.Read; reads++ {
		step = d.Next(step, stops[int32(1+reads%2)].Clone())
	}
	if reads != 5 || step.Do != planner.Rest || step.RequeueAfter != planner.RequeueUnobserved || step.Decision.Effect != nil {
		t.Errorf("after %d reads: %+v", reads, step)
	}
}
