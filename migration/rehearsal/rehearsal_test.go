package rehearsal

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sliceshift/sliceshift/volumes"
)

// TestRehearsed: a rehearsal proves its isolation, starts all pods on clones, notes the times, and leaves nothing.
func TestRehearsed(t *testing.T) {
	c := newClusters(2)
	c.retains = true
	if err := c.run(true, false); err != nil {
		t.Fatal(err)
	}
	c.expectSafe(t)
	end, result := c.record.End, c.record.Result
	if end.Outcome != Rehearsed || result == nil || result.Seconds != 7 || len(result.Pods) != 2 || !c.record.Cleaned {
		t.Fatalf("%+v, %+v", end, result)
	}
	if diff := cmp.Diff([]string{"10.0.0.1:443"}, result.Denied); diff != "" {
		t.Error(diff)
	}
	var order []Kind
	for _, w := range c.wrote {
		if len(order) == 0 || order[len(order)-1] != w.Kind {
			order = append(order, w.Kind)
		}
	}
	want := []Kind{
		KindNamespace, KindControl, KindPolicy, KindProof, KindCopy, KindTaken, KindContent, KindImport, KindClaim, KindContent, KindImport, KindClaim, KindSet,
		KindVolume, KindClaim, KindImport, KindContent, KindTaken, KindContent, KindTaken, KindNamespace,
	}
	if diff := cmp.Diff(want, order); diff != "" {
		t.Error(diff)
	}
	if got, want := result.Outage().Lasts(), 13*time.Second; got != want {
		t.Errorf("expected outage %s, want %s", got, want)
	}
}

// TestKept: with Keep the objects stay until the user requests their deletion.
func TestKept(t *testing.T) {
	c := newClusters(1)
	c.record.Keep = true
	if err := c.run(true, false); err != nil {
		t.Fatal(err)
	}
	if !c.record.Open() || c.at(KindSet, "web") == nil {
		t.Error("the objects are deleted")
	}
	if err := c.run(false, true); err != nil {
		t.Fatal(err)
	}
	c.expectSafe(t)
}

// TestNotKept: pods whose isolation has ended, or that slow the source down, never stay, whatever the user wants to look
// at. A later process deletes what a killed one has left of them, without being asked.
func TestNotKept(t *testing.T) {
	for name, change := range map[string]func(*clusters, *Facts){
		"the policy was deleted": func(_ *clusters, f *Facts) { f.Policy = Policy{} },
		"another policy":         func(_ *clusters, f *Facts) { f.Policy.Others = []string{"allow-all"} },
		"the source is slow": func(_ *clusters, f *Facts) {
			f.Ask.LatencyLimit, f.Latest = time.Millisecond, &Requests{All: 9, P99: time.Second}
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := newClusters(1)
			c.record.Keep = true
			c.until(func() bool { return c.at(KindSet, "web") != nil })
			f := c.facts(true, false)
			change(c, &f)
			step := Next(f)
			if step.Record == nil || step.Record.End == nil || step.Record.Kept() {
				t.Fatalf("%+v", step)
			}
			c.record = *step.Record
			if err := c.run(true, false); err != nil {
				t.Fatal(err)
			}
			c.expectSafe(t)
		})
	}
	for name, tc := range map[string]struct {
		end  *End
		want bool
	}{
		"rehearsed":     {&End{Outcome: Rehearsed}, true},
		"not Ready":     {&End{Outcome: Failed, Reason: ReasonNotReady}, true},
		"refused":       {&End{Outcome: Refused}, false},
		"interrupted":   {&End{Outcome: Interrupted}, false},
		"not ended yet": {nil, false},
	} {
		if got := (Record{Keep: true, End: tc.end}).Kept(); got != tc.want {
			t.Errorf("%s: kept %v", name, got)
		}
	}
}

// TestProofOfEachAddress: a proof that has not tried an address that was reached before shows nothing about it.
func TestProofOfEachAddress(t *testing.T) {
	c := newClusters(1)
	c.until(func() bool { return c.at(KindProof, "proof") != nil })
	f := c.facts(true, false)
	f.Record.Reached = append(slices.Clone(f.Record.Reached), "10.0.0.2:443")
	if step := Next(f); step.Record == nil || step.Record.End == nil || step.Record.End.Reason != ReasonNotIsolated {
		t.Errorf("%+v", step)
	}
}

// TestEnds: what makes a rehearsal unsafe or useless ends it, with its reason. Everything is deleted after that.
func TestEnds(t *testing.T) {
	for name, tc := range map[string]struct {
		passes  int
		change  func(*clusters)
		outcome Outcome
		reason  string
	}{
		"no policy is enforced": {0, func(c *clusters) { c.enforced = false }, Refused, ReasonNotIsolated},
		"no pod becomes Ready":  {0, func(c *clusters) { c.ready = false }, Failed, ReasonNotReady},
		"the namespace was deleted": {12, func(c *clusters) {
			c.at(KindNamespace, c.record.Namespace).terminating = true
			c.finish()
		}, Failed, "NamespaceDeleted"},
		"the policy was deleted":     {12, func(c *clusters) { c.things[KindPolicy] = nil }, Failed, ReasonNotIsolated},
		"the policy was changed":     {12, func(c *clusters) { c.generation += 100 }, Failed, ReasonNotIsolated},
		"a snapshot of another disk": {12, func(c *clusters) { c.ask.Clones[0].Handle = "another" }, Failed, "ForeignSnapshot"},
		"an import is deleted":       {14, func(c *clusters) { c.things[KindContent] = nil }, Failed, "ForeignSnapshot"},
	} {
		t.Run(name, func(t *testing.T) {
			c := newClusters(1)
			for range tc.passes {
				c.pass(true, false)
				c.control()
			}
			tc.change(c)
			if err := c.run(true, false); err != nil {
				t.Fatal(err)
			}
			if end := c.record.End; end.Outcome != tc.outcome || end.Reason != tc.reason || end.Message == "" || end.Remedy == "" {
				t.Errorf("%+v", end)
			}
			c.expectSafe(t)
		})
	}
}

// until makes passes until something is so.
func (c *clusters) until(so func() bool) {
	const most = 100
	for range most {
		if so() {
			return
		}
		c.pass(true, false)
		c.control()
	}
	panic("it is never so")
}

// isolated returns facts in which everything before the clones is done.
func isolated() Facts {
	c := newClusters(1)
	c.until(func() bool { return c.record.Isolation != nil && c.at(KindCopy, "Secretweb") != nil })
	return c.facts(true, false)
}

// TestJudgesForeignObjects: objects that this rehearsal did not create are neither used nor deleted.
func TestJudgesForeignObjects(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*Facts)
		want   string
	}{
		"a namespace of another":       {func(f *Facts) { f.Namespace.Ours = false }, "did not create it"},
		"a namespace of the same name": {func(f *Facts) { f.Namespace.UID = "other" }, "did not create it"},
		"another policy":               {func(f *Facts) { f.Policy.Others = []string{"allow-all"} }, "allow-all; policies add up"},
		"a snapshot of another": {func(f *Facts) {
			f.Clones[0].Taken = volumes.Snapshot{Found: true}
		}, "did not create it"},
		"a policy before the control": {func(f *Facts) { f.Record.Reached = nil }, "before this rehearsal has created one"},
	} {
		t.Run(name, func(t *testing.T) {
			f := isolated()
			tc.change(&f)
			step := Next(f)
			if step.Record == nil || step.Record.End == nil || !strings.Contains(step.Record.End.Message, tc.want) {
				t.Errorf("%+v", step)
			}
		})
	}
}

// TestForeignNamespaceStays: a rehearsal that ends deletes nothing in a namespace that it did not create.
func TestForeignNamespaceStays(t *testing.T) {
	c := newClusters(1)
	c.until(func() bool { return c.at(KindClaim, "data-web-1") != nil })
	f := c.facts(true, true)
	f.Record.End = &End{Outcome: Interrupted}
	f.Namespace.UID = "other"
	for _, kind := range []Kind{KindImport, KindContent, KindTaken} {
		step := Next(f)
		if step.Write == nil || step.Write.Kind != kind {
			t.Fatalf("%+v, want the deletion of a %s", step, kind)
		}
		f.Left.drop(kind)
	}
	if step := Next(f); step.Record == nil || !step.Record.Cleaned {
		t.Errorf("%+v", step)
	}
}

// drop removes the objects of a kind, as if they were deleted.
func (l *Left) drop(kind Kind) {
	switch kind {
	case KindImport:
		l.Imports = nil
	case KindContent:
		l.Contents = nil
	case KindTaken:
		l.Taken = nil
	default:
	}
}

// TestChosenVolumeStays: a volume that existed before its claim is no clone. It is not deleted, and neither is its claim.
func TestChosenVolumeStays(t *testing.T) {
	c := newClusters(1)
	c.until(func() bool { return c.at(KindVolume, "pv-data-web-1") != nil })
	f := c.facts(true, false)
	f.Clones[0].Volume.Chosen, f.Left.Volumes[0].Chosen = true, true
	step := Next(f)
	if step.Record == nil || step.Record.End.Reason != "NotRestored" {
		t.Fatalf("%+v", step)
	}
	f.Record = *step.Record
	if step := Next(f); step.Stuck == nil || !strings.Contains(step.Stuck.Message, "it is not deleted") {
		t.Errorf("%+v", step)
	}
}

// TestAvailableVolume: while a volume is free that the binder could choose, no claim is created.
func TestAvailableVolume(t *testing.T) {
	c := newClusters(1)
	c.until(func() bool { return c.at(KindImport, "import-data-web-1") != nil })
	f := c.facts(true, false)
	f.Clones[0].Occupied = "pv-free"
	if step := Next(f); step.Record == nil || step.Record.End.Reason != "VolumeAvailable" {
		t.Errorf("%+v", step)
	}
}

// TestPreempts: where pods without a PriorityClass evict others, no further pod starts.
func TestPreempts(t *testing.T) {
	c := newClusters(1)
	c.until(func() bool { return c.at(KindControl, "control") != nil })
	f := c.facts(true, false)
	f.Control.Priority, f.Control.Preempts = 1000, true
	step := Next(f)
	if step.Record == nil || step.Record.End == nil || step.Record.End.Outcome != Refused || !strings.Contains(step.Record.End.Message, "have priority 1000") {
		t.Fatalf("%+v", step)
	}
	c.record = *step.Record
	if err := c.run(true, false); err != nil {
		t.Fatal(err)
	}
	c.expectSafe(t)
}

// TestEmptyVolume: nothing is cloned for a volume that starts empty. While a volume is free that the binder could choose for
// its claim, no pod starts, and one that the binder has chosen ends the rehearsal.
func TestEmptyVolume(t *testing.T) {
	f := isolated()
	f.Ask.Clones[0].Empty = true
	if step := Next(f); step.Write == nil || step.Write.Kind != KindSet {
		t.Errorf("%+v", step)
	}
	f.Clones[0].Occupied = "pv-free"
	if step := Next(f); step.Record == nil || step.Record.End == nil || step.Record.End.Reason != "VolumeAvailable" {
		t.Errorf("%+v", step)
	}
	f.Clones[0].Claim.Found, f.Clones[0].Volume = true, Volume{Object: Object{Found: true}, Chosen: true}
	if step := Next(f); step.Record == nil || step.Record.End == nil || step.Record.End.Reason != "NotRestored" {
		t.Errorf("%+v", step)
	}
	f.Clones[0].Claim.Created, f.Clones[0].Volume.Created = noon, noon.Add(time.Minute)
	if r := f.result(); r.RestoreSeconds != 0 || r.CloneSeconds != 0 {
		t.Errorf("an empty volume is restored: %+v", r)
	}
}

// TestGates: gates are asked until they pass or the time is over. One that fails then fails the rehearsal; one without
// an answer does not.
func TestGates(t *testing.T) {
	for name, tc := range map[string]struct {
		gate    Gate
		late    bool
		waits   bool
		outcome Outcome
	}{
		"passed":           {Gate{Name: "up", Pod: "web-1", Verdict: GatePassed}, false, false, Rehearsed},
		"not asked":        {Gate{Name: "up", Verdict: GateNotAsked}, false, false, Rehearsed},
		"fails so far":     {Gate{Name: "up", Pod: "web-1", Verdict: GateFailed}, false, true, ""},
		"fails at the end": {Gate{Name: "up", Pod: "web-1", Verdict: GateFailed}, true, false, Failed},
		"never answers":    {Gate{Name: "up", Pod: "web-1", Verdict: GateUnanswered}, true, false, Rehearsed},
	} {
		t.Run(name, func(t *testing.T) {
			c := newClusters(1)
			c.until(func() bool { return c.record.SetUID != "" })
			f := c.facts(true, false)
			f.Gates = []Gate{tc.gate}
			if tc.late {
				f.Now = f.Set.Created.Add(time.Hour)
			}
			step := Next(f)
			if tc.waits {
				if !strings.Contains(step.Wait, "gate up passes") {
					t.Errorf("%+v", step)
				}
				return
			}
			f.Record = *step.Record
			if got := Next(f).Record.End; got.Outcome != tc.outcome {
				t.Errorf("%+v", got)
			}
		})
	}
}

// TestSourceSuffers: the latest requests to the source end a rehearsal if they are slower than the user accepts, or fail.
// Requests that are not measured do not.
func TestSourceSuffers(t *testing.T) {
	const limit = 100 * time.Millisecond
	for name, tc := range map[string]struct {
		limit  time.Duration
		latest *Requests
		ends   bool
	}{
		"as fast as asked": {limit, &Requests{All: 50, P99: limit}, false},
		"too slow":         {limit, &Requests{All: 50, P99: limit + 1}, true},
		"failed":           {limit, &Requests{All: 50, Failed: 1, P99: 1}, true},
		"not measured":     {limit, nil, false},
		"without a limit":  {0, &Requests{All: 50, Failed: 50}, false},
	} {
		t.Run(name, func(t *testing.T) {
			f := isolated()
			f.Ask.LatencyLimit, f.Latest = tc.limit, tc.latest
			step := Next(f)
			if ends := step.Record != nil && step.Record.End != nil && step.Record.End.Reason == ReasonSourceSlow; ends != tc.ends {
				t.Errorf("%+v", step)
			}
		})
	}
}

// TestCarryOfSnapshots: if the move restores snapshots, too, their time is part of the expected outage. A class that
// waits for a pod restores them during the pod's start.
func TestCarryOfSnapshots(t *testing.T) {
	for name, tc := range map[string]struct {
		bySnapshot, waits bool
		want              time.Duration
	}{
		"the disk moves":         {false, false, 7 * time.Second},
		"restored at once":       {true, false, 16 * time.Second},
		"restored for the start": {true, true, 12 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			f := isolated()
			f.Record.Cloned = new(microTime(f.Record.Isolation.Time.Add(5 * time.Second)))
			f.Ask.Clones[0].BySnapshot, f.Ask.Clones[0].WaitsForPod = tc.bySnapshot, tc.waits
			f.Clones[0].Claim.Created, f.Clones[0].Volume.Created = noon, noon.Add(4*time.Second)
			f.Pods = []Pod{{Times: Times{Created: noon, Ready: noon.Add(time.Second)}}}
			outage := f.result().Outage()
			if got := outage.Lasts(); got != tc.want {
				t.Errorf("%s: %s, want %s", outage, got, tc.want)
			}
		})
	}
}

// TestTiming: the parts of a start add up to the whole, even if the moments of events and conditions overlap.
func TestTiming(t *testing.T) {
	at := func(seconds int) time.Time { return noon.Add(time.Duration(seconds) * time.Second) }
	for name, tc := range map[string]struct {
		times Times
		want  []Part
	}{
		"all known":   {Times{at(0), at(1), at(6), at(7), at(10), at(11), at(20)}, []Part{{"schedule", 1}, {"attach", 5}, {"pull", 3}, {"start", 9}, {"other", 2}}},
		"no events":   {Times{Created: at(0), Scheduled: at(1), Started: at(5), Ready: at(8)}, []Part{{"schedule", 1}, {"attach", 0}, {"pull", 0}, {"start", 3}, {"other", 4}}},
		"overlapping": {Times{at(0), at(4), at(8), at(4), at(8), at(4), at(8)}, []Part{{"schedule", 4}, {"attach", 4}, {"pull", 0}, {"start", 0}, {"other", 0}}},
	} {
		t.Run(name, func(t *testing.T) {
			got := Pod{Times: tc.times}.timing()
			if diff := cmp.Diff(tc.want, got.Parts); diff != "" {
				t.Error(diff)
			}
			sum := 0.0
			for _, part := range got.Parts {
				sum += part.Seconds
			}
			if sum != got.Seconds {
				t.Errorf("%v of %v", sum, got.Seconds)
			}
		})
	}
}
