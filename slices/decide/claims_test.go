package decide

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	api "github.com/sliceshift/sliceshift/api/apps/v1alpha1"
)

// TestClaims: the claims of a pod grow before the pod is updated, and a change of their size alone is an update.
func TestClaims(t *testing.T) {
	is := func(state GrowthState) func(*Pod) {
		return func(pod *Pod) { pod.Growth = Growth{State: state, Claim: "data", Since: noon} }
	}
	same := func(state GrowthState) func(*Pod) {
		return func(pod *Pod) { is(state)(pod); pod.Change = Change{Same: true} }
	}
	waited := func(pod *Pod) {
		pod.Growth = Growth{State: AwaitsFileSystem, Claim: "data", Since: noon.Add(-time.Minute)}
	}
	remounts := func(pod *Pod) { waited(pod); pod.Change = Change{Same: true} }
	anew := func(change func(*Pod)) func(*Pod) {
		return func(pod *Pod) { change(pod); pod.Growth.Anew = true }
	}
	inPlace := func(change func(*Pod)) func(*Pod) {
		return func(pod *Pod) { change(pod); pod.Change = Change{InPlace: true} }
	}
	first := func(n int64) func(*Pod) { return func(pod *Pod) { same(ToGrow)(pod); pod.Priority = []int64{n} } }
	mixed, only := func(in *Input) { in.Spec.Policy = api.InPlaceIfPossible }, func(in *Input) { in.Spec.Policy = api.InPlaceOnly }
	check(t, []row{
		{name: "R-090 they grow before the update", in: slice(3, "a a a").with(2, is(ToGrow)), want: "GrowClaims 2", held: map[int32]string{1: HeldBudget, 2: HeldClaims}},
		{name: "R-090 then the pod", in: slice(3, "a a a"), want: "Delete 2"},
		{name: "R-094 not below the partition", in: slice(4, "a a b b", partition(2)).with(0, is(ToGrow)).with(1, is(ToGrow)), want: ""},
		{name: "R-095 of a pod that has the revision", in: slice(2, "b b", settledAt("b")).with(0, is(ToGrow)), want: "GrowClaims 0"},
		{name: "paused", in: slice(2, "a b", paused).with(0, is(ToGrow)).with(1, is(ToGrow)), want: "", held: map[int32]string{0: HeldPaused, 1: HeldPaused}},
		{name: "it has been asked to", in: slice(3, "a a a").with(2, is(Growing)), want: "", held: map[int32]string{1: HeldBudget, 2: HeldClaims}},

		{name: "X-02 a pod that cannot run is replaced, its claim is not bound", in: slice(2, "a a?").with(1, is(Unbound)), want: "Delete 1"},
		{name: "X-02 nor does it wait for a claim that is refused", in: slice(2, "a a-").with(1, is(ToGrow)), want: "Delete 1"},
		{name: "X-02 nor for one that cannot grow", in: slice(2, "a a-").with(1, is(Infeasible)), want: "Delete 1"},
		{name: "X-02 in place neither", in: slice(2, "a a-", mixed).with(1, inPlace(is(ToGrow))), want: "BeginInPlace 1"},
		{name: "X-02 of the new pod it grows when it is bound", in: slice(2, "a b?").with(1, is(Unbound)), want: "", held: map[int32]string{0: HeldBatch, 1: HeldClaims}},
		{name: "X-02 it is bound", in: slice(2, "a b-").with(1, is(ToGrow)), want: "GrowClaims 1"},
		{name: "X-02 the next one waits for it", in: slice(2, "a b").with(1, is(ToGrow)), want: "GrowClaims 1", held: map[int32]string{0: HeldBudget}},
		{name: "X-02 a new mount is what its file system waits for", in: slice(2, "a a").with(1, is(AwaitsFileSystem)), want: "Delete 1"},
		{name: "X-02 Recreate does not wait for claims", in: slice(2, "a a", by(api.Recreate)).with(1, is(ToGrow)), want: "Delete 1, Delete 0"},
		{name: "X-02 in place it has a minute to grow", in: slice(2, "a a", mixed).with(1, inPlace(is(AwaitsFileSystem))), want: "", held: map[int32]string{0: HeldBudget, 1: HeldClaims}},
		{name: "X-02 then the pod is made anew", in: slice(2, "a a", mixed).with(1, inPlace(waited)), want: "Delete 1"},
		{name: "X-02 but with InPlaceOnly", in: slice(2, "a a", only).with(1, inPlace(waited)), want: "BeginInPlace 1"},
		{name: "X-02 which never makes it anew", in: slice(2, "b b", only, settledAt("b")).with(1, remounts), want: "", held: map[int32]string{1: HeldInPlaceOnly}},

		{name: "X-10 sizes alone go in order", in: slice(3, "a a a").with(2, same(ToGrow)).with(1, same(ToGrow)).with(0, same(ToGrow)), want: "GrowClaims 2", held: map[int32]string{0: HeldBudget, 1: HeldBudget}},
		{name: "X-10 by priority", in: slice(2, "a a", parallel, func(in *Input) { in.Spec.Unordered = true }).with(0, first(1)).with(1, first(0)), want: "GrowClaims 0"},
		{name: "X-10 one is on its way", in: slice(3, "a a a").with(2, same(Growing)).with(1, same(ToGrow)).with(0, same(ToGrow)), want: "", held: map[int32]string{0: HeldBudget, 1: HeldBudget, 2: HeldClaims}},
		{name: "X-10 whatever its ordinal", in: slice(3, "a a a").with(2, same(ToGrow)).with(1, same(ToGrow)).with(0, same(Growing)), want: ""},
		{name: "X-10 as many as may be unavailable", in: slice(3, "a a a", unavailable(2)).with(2, same(Growing)).with(1, same(ToGrow)).with(0, same(ToGrow)), want: "GrowClaims 1"},
		{name: "X-10 one is unavailable", in: slice(3, "b- a a").with(2, same(ToGrow)).with(1, same(ToGrow)), want: "", held: map[int32]string{1: HeldBatch, 2: HeldBatch}},
		{name: "X-10 the label comes when it has grown", in: slice(3, "a a a").with(2, same(Grown)).with(1, same(ToGrow)).with(0, same(ToGrow)), want: "Relabel 2, GrowClaims 1"},
		{name: "X-10 not below the partition", in: slice(3, "a a a", partition(2)).with(2, same(Growing)).with(1, same(ToGrow)).with(0, same(ToGrow)), want: "", held: map[int32]string{0: "", 1: ""}},
		{name: "X-10 nor while it is paused", in: slice(2, "a a", paused).with(1, same(ToGrow)).with(0, same(ToGrow)), want: "", held: map[int32]string{0: HeldPaused, 1: HeldPaused}},
		{name: "X-10 nor before pods that are not owned are gone", in: slice(1, "a a").with(0, same(ToGrow)), want: "Delete 1", held: map[int32]string{0: HeldScaleFirst}},
		{name: "X-10 one that does not serve goes first", in: slice(3, "a- a a").with(2, same(Growing)).with(1, same(ToGrow)).with(0, same(ToGrow)), want: "GrowClaims 0"},
		{name: "X-10 with OnDelete when the pod is deleted", in: slice(2, "a b", by(api.OnDelete)).with(0, same(ToGrow)).with(1, is(ToGrow)), want: "GrowClaims 1", held: map[int32]string{0: HeldOnDelete}},
		{name: "X-10 nor is it deleted for a file system", in: slice(1, "b", by(api.OnDelete)).with(0, waited), want: "", held: map[int32]string{0: HeldOnDelete}},
		{name: "X-10 a file system has a minute to grow", in: slice(2, "a a").with(1, same(AwaitsFileSystem)).with(0, same(ToGrow)), want: "", held: map[int32]string{0: HeldBudget, 1: HeldClaims}},
		{name: "X-10 then the pod is made anew", in: slice(2, "a a").with(1, remounts).with(0, same(ToGrow)), want: "Delete 1", held: map[int32]string{0: HeldBudget}},
		{name: "X-02 once: what that did not help is told", in: slice(2, "b b", settledAt("b")).with(1, anew(waited)), want: "", held: map[int32]string{1: HeldClaims}},
		{name: "X-02 nor before it has been mounted", in: slice(2, "b b?", settledAt("b")).with(1, anew(waited)), want: "", held: map[int32]string{1: HeldClaims}},
		{name: "X-02 a pod that has not begun mounts it yet", in: slice(2, "b b?", settledAt("b")).with(1, waited), want: "", held: map[int32]string{1: HeldClaims}},
		{name: "X-10 as the budget allows", in: slice(2, "b- b", settledAt("b")).with(1, waited), want: "", held: map[int32]string{1: HeldBatch}},
		{name: "X-10 what its driver cannot do stops the others", in: slice(4, "a a a a", unavailable(3)).with(3, same(Infeasible)).with(2, same(ToGrow)).with(1, same(AwaitsFileSystem)), want: "", held: map[int32]string{0: HeldInfeasible, 1: HeldClaims, 2: HeldInfeasible, 3: HeldInfeasible}},
		{name: "X-10 below the partition it stops nobody", in: slice(2, "a a", partition(1)).with(0, is(Infeasible)), want: "Delete 1"},
		{name: "X-10 pods stand in for one that is to be made anew", in: slice(2, "a a", unavailable(0), surge(1)).with(1, remounts).with(0, same(ToGrow)), want: "Create 2b", held: map[int32]string{0: HeldBudget, 1: HeldBudget}},
	})
}

// TestY10ClaimsOfAdoptedPods: the claims of pods that have the revision already grow within the budget too, as after an
// adoption of pods with smaller claims than the template.
func TestY10ClaimsOfAdoptedPods(t *testing.T) {
	small := func(pod *Pod) { pod.Growth = Growth{State: ToGrow, Claim: "data"} }
	growing := func(pod *Pod) { pod.Growth = Growth{State: ToGrow, Claim: "data", InProgress: true} }
	adopted := func(pods string, with ...func(*Input)) Input {
		c := slice(3, pods, append([]func(*Input){settledAt("b")}, with...)...)
		for ordinal := range int32(3) {
			c = c.with(ordinal, small)
		}
		return c
	}
	shareOf := func(n int32) func(*Input) {
		return func(in *Input) { in.Spec.Migrating, in.Spec.Share = true, new(n) }
	}
	check(t, []row{
		{name: "Y10 one at a time", in: adopted("b b b"), want: "GrowClaims 2", held: map[int32]string{0: HeldBudget, 1: HeldBudget, 2: HeldClaims}},
		{name: "Y10 Parallel", in: adopted("b b b", parallel), want: "GrowClaims 2", held: map[int32]string{0: HeldBudget, 1: HeldBudget}},
		{name: "Y10 as many as may be unavailable", in: adopted("b b b", unavailable(2)), want: "GrowClaims 2, GrowClaims 1", held: map[int32]string{0: HeldBudget}},
		{name: "Y10 none while a pod is unavailable", in: adopted("b b b-", parallel).with(2, func(pod *Pod) { pod.Growth = Growth{} }), want: "", held: map[int32]string{0: HeldBudget, 1: HeldBudget}},
		{name: "Y10 a pod that does not serve first", in: adopted("b- b b", parallel), want: "GrowClaims 0", held: map[int32]string{1: HeldBudget, 2: HeldBudget}},
		{name: "Y10 with Recreate", in: adopted("b b b", by(api.Recreate)), want: "GrowClaims 2", held: map[int32]string{0: HeldBudget, 1: HeldBudget}},
		{name: "Y10 with OnDelete", in: adopted("b b b", by(api.OnDelete)), want: "GrowClaims 0", held: map[int32]string{1: HeldBudget, 2: HeldBudget}},
		{name: "Y10 within the share of a migration", in: adopted("b b b", shareOf(0)), want: "", held: map[int32]string{0: HeldBudget, 1: HeldBudget, 2: HeldBudget}},
		{name: "Y10 with a surge pod", in: adopted("b b b", unavailable(0), surge(1)), want: "Create 3b", held: map[int32]string{0: HeldBudget, 1: HeldBudget, 2: HeldBudget}},
		{name: "Y10 beside the surge pod", in: adopted("b b b b", unavailable(0), surge(1)), want: "GrowClaims 2", held: map[int32]string{0: HeldBudget, 1: HeldBudget}},
		{name: "Y10 one that grows is asked for more before others", in: adopted("b b b").with(0, growing), want: "GrowClaims 0", held: map[int32]string{1: HeldBudget, 2: HeldBudget}},
		{name: "Y10 of an old revision too", in: slice(3, "a a a").with(0, growing).with(1, small).with(2, small), want: "GrowClaims 0", held: map[int32]string{1: HeldBudget, 2: HeldBudget}},
		{name: "Y10 with OnDelete, beside one of an old revision that grows", in: adopted("a b b", by(api.OnDelete)).with(0, func(pod *Pod) { pod.Growth.State = Growing }), want: "", held: map[int32]string{0: HeldOnDelete, 1: HeldBudget, 2: HeldBudget}},
		{name: "Y10 not below the partition", in: adopted("b b b", partition(2)), want: "GrowClaims 2", held: map[int32]string{0: "", 1: ""}},
		{name: "Y10 paused", in: adopted("b b b", paused), want: "", held: map[int32]string{0: HeldPaused, 1: HeldPaused, 2: HeldPaused}},
	})
}

// TestY10ClaimsGrowWithinTheBudget: at any time, the pods that are unavailable and the available pods whose claims grow are
// together at most maxUnavailable, if only claims change.
func TestY10ClaimsGrowWithinTheBudget(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		spec := worldSpec(t)
		spec.Replicas, spec.MaxSurge, spec.Partition, spec.Paused, spec.Share, spec.Migrating = rapid.Int32Range(1, 6).Draw(t, "replicas of it"), 0, 0, false, nil, false
		spec.MaxUnavailable = max(spec.MaxUnavailable, 1)
		w := newWorld(t, spec)
		w.run()
		w.driver = rapid.SampledFrom([]string{online, slow}).Draw(t, "driver")
		for range rapid.IntRange(1, 3).Draw(t, "times") {
			// Current and Update are the same revision, as after an adoption.
			w.in.Revisions.Update += "+"
			w.in.Revisions.Current = w.in.Revisions.Update
			for _, pod := range w.pods {
				pod.Revision = w.in.Revisions.Update
			}
			for range rapid.IntRange(0, 12).Draw(t, "steps") {
				w.in.Now = w.in.Now.Add(10 * time.Second)
				w.reconcile(1000)
				grow := 0
				for _, ordinal := range w.in.Spec.Ordinals() {
					claim, pod := w.claims[ordinal], w.pods[ordinal]
					if pod == nil || !serves(w.observe(), pod) || claim.bound && claim.has < claim.asks {
						grow++
					}
				}
				if grow > int(spec.MaxUnavailable) {
					t.Fatalf("%d pods are unavailable or their claims grow: %v", grow, w.observeSorted())
				}
				for _, ordinal := range w.ordinals() {
					w.on(w.pods[ordinal])
				}
			}
		}
		w.driver = online
		w.run()
		w.atRest()
	})
}

// TestClaimsComplete: with any strategy, a set is complete only when its claims have grown.
func TestClaimsComplete(t *testing.T) {
	was := Progress{Revision: "b", Complete: true, Since: noon.Add(-time.Hour), Updated: 2, Ready: 2}
	for _, strategy := range []api.UpdateStrategyType{api.RollingUpdate, api.OnDelete, api.Recreate} {
		for _, state := range []GrowthState{Grown, ToGrow, Growing, Unbound, AwaitsFileSystem, Infeasible} {
			t.Run(fmt.Sprintf("X-10 %s %s", strategy, state), func(t *testing.T) {
				in := slice(2, "b b", settledAt("b"), by(strategy)).with(1, func(pod *Pod) { pod.Growth = Growth{State: state, Since: noon} })
				if in.Progress = was; strategy == api.OnDelete {
					in.Progress = Progress{}
				}
				if d := Decide(in); d.Complete != (state == Grown) {
					t.Errorf("complete: %t; %+v", d.Complete, d.Progress)
				}
			})
		}
	}
}
