package simulate

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/migration/plan/plantest"
	"github.com/sliceshift/sliceshift/migration/planner"
	"github.com/sliceshift/sliceshift/pdb"
	"github.com/sliceshift/sliceshift/pdb/pdbtest"
	"github.com/sliceshift/sliceshift/volumes"
)

// TestNear: a dry run that reads only the volumes near the moving ordinal has the same steps as one that reads all
// of them. This holds from any moment of a move, in both directions, and with a problem anywhere.
func TestNear(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := someMoment(t)
		for range rapid.IntRange(0, 2).Draw(t, "amiss") {
			disturb(t, &s)
		}
		if diff := cmp.Diff(listed(s, whole), Run(s)); diff != "" {
			t.Fatalf("-all +near\n%s", diff)
		}
	})
}

// TestNearBeginsWithAll: a problem of an ordinal that moved long ago is found by a dry run that begins in the
// middle of another one's handoff.
func TestNearBeginsWithAll(t *testing.T) {
	s := halfSimulated(t, plantest.Scenario{Replicas: 4, Templates: []string{"data"}}, plan.ScaleDown, 3).Snapshot()
	s.Volumes[3].Destination.Claim.Volume = "another"
	if result := Run(s); result.Held == nil || result.Held.Reason != volumes.ReasonAnotherDisk {
		t.Errorf("it ends with %q, held by %+v", result.Outcome, result.Held)
	}
}

// whole is a dry run that reads everything in each step.
func whole(s plan.Snapshot, show func(Step)) Result {
	return NewWorld(s).run(func(w *World) plan.Decision { return planner.Plan(w.State) }, show)
}

// someMoment returns a move after some of its steps.
func someMoment(t *rapid.T) plan.Snapshot {
	some := func(of string) bool { return rapid.Bool().Draw(t, of) }
	c := plantest.Scenario{
		Replicas: rapid.Int32Range(1, 5).Draw(t, "replicas"), Start: rapid.Int32Range(0, 2).Draw(t, "start"),
		Templates: []string{"data", "wal"}[:rapid.IntRange(0, 2).Draw(t, "templates")],
		Method:    rapid.SampledFrom([]api.VolumeMethod{"", "", api.MethodCopy, api.MethodEmpty}).Draw(t, "method"),
		Ordered:   some("ordered"), Retained: some("retained"), Prepared: some("prepared"), Slices: some("slices"), Service: some("service"),
		Spec: plan.Spec{
			Order: rapid.SampledFrom([]api.Order{api.HighestFirst, api.LowestFirst}).Draw(t, "order"), Count: rapid.Int32Range(0, 5).Draw(t, "count"),
			SameCluster: some("same cluster"), DeleteSource: some("delete"), Export: some("export"),
		},
	}
	c.Budget = rapid.SampledFrom([]*pdb.Form{nil, pdbtest.MaxUnavailable(1), pdbtest.MaxUnavailable(2)}).Draw(t, "budget")
	w := NewWorld(c.Build())
	steps := rapid.IntRange(0, 60).Draw(t, "steps")
	for range steps {
		decision := planner.Plan(w.State)
		if decision.Record != nil {
			w.State.Record, w.State.Engaged = *decision.Record, decision.Record.Fence != nil
		}
		if decision.Effect != nil {
			if err := w.Apply(*decision.Effect); err != nil {
				t.Fatal(err)
			}
		}
		w.Settle()
	}
	w.State.Source.Set.MinReady, w.State.Spec.MinReady = someSeconds(t, "its own"), someSeconds(t, "asked for")
	w.State.Spec.Mode = rapid.SampledFrom([]api.Mode{api.ModeRun, api.ModeRollback, api.ModePause}).Draw(t, "mode")
	return w.Snapshot()
}

func someSeconds(t *rapid.T, of string) time.Duration {
	return time.Duration(rapid.IntRange(0, 2).Draw(t, of)) * time.Minute
}

// disturb causes a problem at some ordinal of some side.
func disturb(t *rapid.T, s *plan.Snapshot) {
	side := s.Side(rapid.SampledFrom(plan.SideNames).Draw(t, "side"))
	if len(side.Budgets) > 0 && rapid.Bool().Draw(t, "an eviction") {
		side.Budgets[0].Disrupted = []string{plan.PodName(side.Set.Name, rapid.Int32Range(0, 6).Draw(t, "of a pod"))}
		return
	}
	if len(side.Pods) > 0 && rapid.Bool().Draw(t, "a pod") {
		pod := &side.Pods[rapid.IntRange(0, len(side.Pods)-1).Draw(t, "of")]
		rapid.SampledFrom([]func(){
			func() { pod.Ready = false }, func() { pod.Terminating = true }, func() { side.RemovePod(pod.Ordinal) },
			func() { pod.ReadySince = s.Now.Add(-someSeconds(t, "ago")) }, func() { pod.Owned = false },
		}).Draw(t, "what")()
		return
	}
	if len(s.Volumes) == 0 {
		return
	}
	v := &s.Volumes[rapid.IntRange(0, len(s.Volumes)-1).Draw(t, "volume")]
	h := v.Holding(rapid.SampledFrom(plan.SideNames).Draw(t, "holding"))
	rapid.SampledFrom([]func(){
		func() { h.Volume.Found = false },
		func() { h.Volume.Fence = "another/1" },
		func() { h.Volume.Handle = "another disk" },
		func() { h.Claim.Found = false },
		func() { h.Claim.UID = types.UID("another") },
		func() { h.Claim.Volume = "another" },
		func() { h.Claim.Terminating = true },
		func() { h.Claim.Users = []string{"another"} },
	}).Draw(t, "what")()
}
