package decide

import (
	"strings"
	"testing"
	"time"

	api "github.com/sliceshift/sliceshift/api/apps/v1alpha1"
)

// with modifies one pod of an input.
func (in Input) with(ordinal int32, change func(*Pod)) Input {
	for i := range in.Pods {
		if in.Pods[i].Ordinal == ordinal {
			change(&in.Pods[i])
		}
	}
	return in
}

func TestRecreate(t *testing.T) {
	recreating := by(api.Recreate)
	check(t, []row{
		{name: "D-044 all old pods go at once", in: slice(3, "a a a", recreating), want: "Delete 2, Delete 1, Delete 0"},
		{name: "D-044 those outside of the range too", in: slice(2, "a a a a", recreating), want: "Delete 3, Delete 2, Delete 1, Delete 0"},
		{name: "D-044 none is made while one is left", in: slice(3, ". at .", recreating), want: "", held: map[int32]string{0: HeldOldPods, 2: HeldOldPods}},
		{name: "D-044 nor while one is left outside of the range", in: slice(2, ". . at", recreating), want: "", held: map[int32]string{0: HeldOldPods}},
		{name: "D-044 then in order", in: slice(3, "", recreating), want: "Create 0b", held: map[int32]string{1: HeldPredecessor}},
		{name: "D-044 Parallel", in: slice(3, "", recreating, parallel), want: "Create 0b, Create 1b, Create 2b"},
		{name: "D-044 in mid-way", in: slice(3, "b b- .", recreating, parallel), want: "Create 2b"},
		{name: "asked to go: with all others", in: slice(3, ". . a*", recreating), want: "Delete 2"},
		{name: "changed in mid-way", in: slice(3, "b- a .", recreating, parallel), want: "Delete 1", held: map[int32]string{2: HeldOldPods}},
		{name: "S-019 paused: healed with the old revision", in: slice(3, "a . a", recreating, paused), want: "Create 1a"},
		{name: "paused, nothing old is left", in: slice(3, "b . b", recreating, paused), want: "Create 1b"},
		{name: "paused, scaled down", in: slice(2, "a a a", recreating, paused), want: "Delete 2"},
		{name: "S-009 a revision of the same meaning", in: slice(2, "c c", recreating).with(0, same).with(1, same), want: "Relabel 0, Relabel 1"},
	})
}

func same(pod *Pod) { pod.Change = Change{Same: true} }

func possible(pod *Pod) { pod.Change = Change{InPlace: true} }

func TestSurge(t *testing.T) {
	check(t, []row{
		{name: "S-016 D-008 above the range first", in: slice(3, "a a a", unavailable(0), surge(1)), want: "Create 3b", held: map[int32]string{2: HeldBudget}},
		{name: "S-016 not Ready: wait", in: slice(3, "a a a b-", unavailable(0), surge(1)), want: "", held: map[int32]string{2: HeldBudget, 3: HeldNotReady}},
		{name: "D-009 not for minReadySeconds: wait", in: slice(3, "a a a b3", unavailable(0), surge(1), minReady(5)), want: ""},
		{name: "D-008 one by one in OrderedReady", in: slice(3, "a a a b-", unavailable(0), surge(2)), want: "", held: map[int32]string{4: HeldPredecessor}},
		{name: "S-016 it stands in", in: slice(3, "a a a b", unavailable(0), surge(1)), want: "Delete 2"},
		{name: "S-016 for one at a time", in: slice(3, "a a . b", unavailable(0), surge(1)), want: "Create 2b"},
		{name: "S-016 until all are updated", in: slice(3, "a b b b", unavailable(0), surge(1)), want: "Delete 0"},
		{name: "S-016 and available", in: slice(3, "b- b b b", unavailable(0), surge(1)), want: "", held: map[int32]string{3: HeldBudget}},
		{name: "S-016 then it goes", in: slice(3, "b b b b", unavailable(0), surge(1)), want: "Delete 3"},
		{name: "D-009 unavailable old pods need none to stand in", in: neverUp(slice(3, "a a- a", unavailable(0), surge(1), parallel)), want: "Create 3b, Delete 1"},
		{name: "reserved ordinals are skipped", in: slice(2, "a a", unavailable(0), surge(2), reserved(Range{2, 3}), parallel), want: "Create 4b, Create 5b"},
		{name: "the highest goes first", in: slice(3, "b b b b b", unavailable(0), surge(2)), want: "Delete 4", held: map[int32]string{3: HeldScaleDown}},
		{name: "the next when it is gone", in: slice(3, "b b b b bt", unavailable(0), surge(2)), want: "", held: map[int32]string{3: HeldScaleDown, 4: HeldTerminating}},
		{name: "one of them is Terminating", in: slice(3, "b b b bt b", unavailable(0), surge(2)), want: "Delete 4", held: map[int32]string{3: HeldTerminating}},
		{name: "Parallel: all at once", in: slice(3, "b b b b b", unavailable(0), surge(2), parallel), want: "Delete 4, Delete 3"},
		{name: "Parallel: as far as nothing is missed", in: slice(3, "b- b b b b", unavailable(0), surge(2), parallel), want: "Delete 4"},
		{name: "with maxUnavailable", in: slice(4, "a a a a b", unavailable(1), surge(1), parallel), want: "Delete 3, Delete 2"},
		{name: "S-017 of an old revision: it is exchanged first", in: slice(3, "a a . x x", unavailable(0), surge(2), parallel), want: "Create 2b, Delete 4", held: map[int32]string{3: HeldBudget}},
		{name: "paused in mid-way: it stays", in: slice(3, "a a b b", unavailable(0), surge(1), paused), want: ""},
		{name: "paused before: none is made", in: slice(3, "a a a", unavailable(0), surge(1), paused), want: ""},
		{name: "partition reached", in: slice(3, "a a b b", partition(2), unavailable(0), surge(1)), want: "Delete 3"},
		{name: "none while a migration has those ordinals elsewhere (I1)", in: slice(3, "a a a", unavailable(0), surge(1), func(in *Input) { in.Spec.Migrating = true }), want: "", held: map[int32]string{2: HeldBudget}},
		{name: "for a pod that is asked to go", in: slice(3, "b b* b", settledAt("b"), unavailable(0), surge(1)), want: "Create 3b", held: map[int32]string{1: HeldBudget}},
		{name: "which goes then", in: slice(3, "b b* b b", settledAt("b"), unavailable(0), surge(1)), want: "Delete 1"},
		{name: "a Failed one is made again", in: slice(3, "a a a b!", unavailable(0), surge(1)), want: "Delete 3"},
		{name: "scaled down with surge", in: slice(2, "b b b b", settledAt("b"), surge(1)), want: "Delete 3", held: map[int32]string{2: HeldScaleDown}},
	})
}

func TestAskedToGo(t *testing.T) {
	mixed := func(in *Input) { in.Spec.Policy = api.InPlaceIfPossible }
	six := func(pods string) Input {
		in := slice(6, pods, parallel, partition(3), unavailable(3), mixed)
		for i := range in.Pods {
			if in.Pods[i].Revision == "a" {
				possible(&in.Pods[i])
			}
		}
		return in
	}
	check(t, []row{
		{name: "R-075 one pod", in: slice(4, "b b* b b", settledAt("b")), want: "Delete 1"},
		{name: "R-075 it is made again", in: slice(4, "b . b b", settledAt("b")), want: "Create 1b"},
		{name: "R-075 the budget", in: slice(4, "b b* b b-", settledAt("b")), want: "", held: map[int32]string{1: HeldBudget}},
		{name: "R-075 it was never available", in: neverUp(slice(4, "b b*- b b-", settledAt("b"))), want: "Delete 1"},
		{name: "R-075 it is unavailable, and has the budget", in: slice(4, "b b*- b b", settledAt("b")), want: "Delete 1"},
		{name: "R-075 it is unavailable, as another one is", in: slice(4, "b b*- b b-", settledAt("b")), want: "", held: map[int32]string{1: HeldBudget}},
		{name: "R-076 below the partition", in: slice(4, "a a* b b", partition(2)), want: "Delete 1"},
		{name: "R-076 it keeps its revision", in: slice(4, "a . b b", partition(2)), want: "Create 1a"},
		{name: "R-077 it comes first", in: six("a* a a a a a"), want: "Delete 0, BeginInPlace 5, BeginInPlace 4"},
		{name: "R-078 four asked, three go", in: six("a* a* a* a b b*"), want: "Delete 5, Delete 2, Delete 1", held: map[int32]string{0: HeldBudget, 3: HeldBudget}},
		{name: "R-079 deleted, not updated in place", in: six("a a a a* b b"), want: "Delete 3"},
		{name: "paused: a person asks nevertheless", in: slice(3, "a a* a", paused), want: "Delete 1"},
		{name: "Terminating already", in: slice(3, "b b*t b", settledAt("b")), want: ""},
		{name: "OnDelete", in: slice(3, "a a* a", by(api.OnDelete)), want: "Delete 1"},
	})
}

// TestShare: a migration limits the number of unavailable pods. A pod that is not Ready anyway is replaced.
func TestShare(t *testing.T) {
	share := func(n int32) func(*Input) {
		return func(in *Input) { in.Spec.Migrating, in.Spec.Share = true, &n }
	}
	together := func(in *Input) { in.Spec.Migrating, in.Spec.Paused, in.Spec.Strategy = true, true, api.Recreate }
	check(t, []row{
		{name: "nothing", in: slice(3, "a a a", share(0)), want: "", held: map[int32]string{0: HeldBudget, 1: HeldBudget, 2: HeldBudget}},
		{name: "less than maxUnavailable", in: slice(3, "a a a", unavailable(3), share(1), parallel), want: "Delete 2"},
		{name: "more than maxUnavailable", in: slice(3, "a a a", share(3), parallel), want: "Delete 2"},
		{name: "one is down already", in: slice(3, "a a b-", unavailable(3), share(1), parallel), want: ""},
		{name: "what was never up", in: neverUp(slice(3, "a a- a", share(0))), want: "Delete 1"},
		{name: "what is down for a moment", in: slice(3, "a a- a", share(0)), want: "", held: map[int32]string{1: HeldBudget}},
		{name: "a person asks", in: slice(3, "b b* b", settledAt("b"), share(0)), want: "", held: map[int32]string{1: HeldBudget}},
		{name: "an ordinal arrives", in: slice(3, ". b b", settledAt("b"), share(0)), want: "Create 0b"},
		{name: "an ordinal leaves", in: slice(2, "b b b", settledAt("b"), share(0)), want: "Delete 2"},
		{name: "Recreate", in: slice(3, "a a a", together), want: "", held: map[int32]string{0: HeldPaused}},
		{name: "Recreate, an ordinal arrives", in: slice(3, ". a a", together), want: "Create 0a"},
	})
	for says, in := range map[string]Input{"waits for a migration": slice(3, "a a a", share(0)), "the end of the migration": slice(3, "a a a", together)} {
		if message := Decide(in).Held[0].Message; !strings.Contains(message, says) {
			t.Errorf("held because %q, want to be told %q", message, says)
		}
	}
}

func TestInPlace(t *testing.T) {
	mixed := func(in *Input) { in.Spec.Policy, in.Spec.InPlaceGrace = api.InPlaceIfPossible, 10*time.Second }
	only := func(in *Input) { in.Spec.Policy = api.InPlaceOnly }
	blocked := func(pod *Pod) { pod.Change = Change{Blocker: "spec.template.spec.volumes"} }
	begun := func(revision string, ago time.Duration) func(*Pod) {
		return func(pod *Pod) {
			possible(pod)
			pod.Ready, pod.InPlace = false, &InPlace{Revision: revision, Since: noon.Add(-ago), Done: true}
		}
	}
	inFlight := func(pod *Pod) { pod.InPlace.Done = false }
	unseen := func(pod *Pod) { pod.InPlace.Unseen = true }
	finished := func(pod *Pod) { pod.InPlace.Done = true }
	check(t, []row{
		{name: "R-060 the gate is closed", in: slice(2, "a a", mixed).with(1, possible), want: "BeginInPlace 1"},
		{name: "R-060 R-066 within the grace", in: slice(2, "a a", mixed).with(1, begun("b", time.Second)), want: "", held: map[int32]string{0: HeldBudget, 1: HeldInPlaceGrace}},
		{name: "R-060 R-066 patched after it", in: slice(2, "a a", mixed).with(1, begun("b", 10*time.Second)), want: "PatchInPlace 1"},
		{name: "R-060 not done", in: slice(2, "a bi", mixed), want: "", held: map[int32]string{0: HeldBatch, 1: HeldInPlace}},
		{name: "R-060 R-066 done: the gate is opened", in: slice(2, "a bi", mixed).with(1, finished), want: "FinishInPlace 1"},
		{name: "R-060 the partition", in: slice(2, "a b", mixed, partition(1)).with(0, possible), want: ""},
		{name: "R-062 impossible: deleted", in: slice(2, "a a", mixed).with(1, blocked), want: "Delete 1"},
		{name: "InPlaceOnly: held", in: slice(2, "a a", only).with(1, blocked).with(0, possible), want: "BeginInPlace 0", held: map[int32]string{1: HeldInPlaceOnly}},
		{name: "ReCreate: deleted", in: slice(2, "a a").with(1, possible), want: "Delete 1"},
		{name: "R-072 R-073 the hook holds it", in: slice(2, "a a", mixed).with(1, possible).with(1, func(p *Pod) { p.HeldForUpdate = true }), want: "", held: map[int32]string{0: HeldBudget, 1: HeldInPlaceUpdate}},
		{name: "R-073 preDelete holds it", in: slice(2, "a a").with(1, func(p *Pod) { p.HeldForDelete = true }), want: "Announce 1 Update", held: map[int32]string{0: HeldBudget, 1: HeldPreDelete}},
		{name: "another revision: begun anew", in: slice(2, "a a", mixed).with(1, begun("x", time.Minute)), want: "BeginInPlace 1"},
		{name: "another revision, of a patched pod", in: slice(2, "a xi", mixed).with(1, possible), want: "BeginInPlace 1"},
		{name: "rolled back before it was patched", in: slice(2, "b b", mixed).with(1, begun("x", 0)).with(1, same), want: "FinishInPlace 1"},
		{name: "paused before it was patched", in: slice(2, "a a", mixed, paused).with(1, begun("b", 0)), want: "FinishInPlace 1"},
		{name: "X-04 paused before it was patched, and the one before is not done", in: slice(2, "a a", mixed, paused).with(1, begun("b", 0)).with(1, inFlight), want: "", held: map[int32]string{1: HeldInPlace + "," + HeldPaused}},
		{name: "X-04 another revision, before the kubelet has taken up the former", in: slice(2, "a xi", mixed).with(1, possible).with(1, unseen), want: "", held: map[int32]string{1: HeldInPlace}},
		{name: "paused after it", in: slice(2, "a bi", mixed, paused), want: "", held: map[int32]string{1: HeldInPlace}},
		{name: "R-041 a broken pod costs nothing", in: neverUp(slice(3, "a a- b-", mixed)).with(1, possible), want: "BeginInPlace 1"},
		{name: "OrderedReady: the others of a batch", in: slice(4, "a a a a", mixed, unavailable(2)).with(3, begun("b", 0)).with(2, possible), want: "BeginInPlace 2"},
		{name: "it counts as unavailable though the gate is not seen yet", in: slice(2, "a b", mixed).with(1, func(p *Pod) { p.InPlace = &InPlace{Revision: "b", Patched: true} }), want: ""},
	})
}

// TestResizes: a resize that a node delays holds the roll-out while the pod serves. A pod whose node can never resize it is
// replaced, if the policy allows it.
func TestResizes(t *testing.T) {
	mixed := func(in *Input) { in.Spec.Policy = api.InPlaceIfPossible }
	only := func(in *Input) { in.Spec.Policy = api.InPlaceOnly }
	waits := func(pod *Pod) {
		possible(pod)
		pod.Change.Same = pod.Revision == "b"
		pod.InPlace = &InPlace{Revision: pod.Revision, Since: noon, Patched: true, Serves: true, Waits: "no room"}
	}
	never := func(pod *Pod) { pod.InPlace.Infeasible = true; pod.Change.InPlace = false }
	pressed := func(pod *Pod) { pod.InPlace.Serves, pod.Ready = false, false }
	hooked := func(pod *Pod) { pod.HeldForDelete = true }
	check(t, []row{
		{name: "X-05 deferred: the next one waits", in: slice(3, "a a b", mixed).with(2, waits), want: "", held: map[int32]string{0: HeldBatch, 1: HeldBatch, 2: HeldResize}},
		{name: "X-05 deferred, Parallel", in: slice(3, "a a b", mixed, parallel).with(2, waits), want: "", held: map[int32]string{0: HeldBudget, 1: HeldBudget, 2: HeldResize}},
		{name: "X-05 infeasible, InPlaceOnly: the next one waits", in: slice(3, "a a b", only).with(2, waits).with(2, never).with(1, possible).with(0, possible), want: "", held: map[int32]string{0: HeldBudget, 1: HeldBudget, 2: HeldInPlaceOnly}},
		{name: "X-05 infeasible, InPlaceIfPossible: another pod", in: slice(3, "a a b", mixed).with(2, waits).with(2, never).with(1, possible).with(0, possible), want: "Delete 2", held: map[int32]string{0: HeldBudget, 1: HeldBudget}},
		{name: "X-05 infeasible, beside one that was updated", in: slice(3, "a b b", mixed).with(1, waits).with(1, never).with(0, possible), want: "Delete 1", held: map[int32]string{0: HeldBatch}},
		{name: "X-05 infeasible, and it does not serve", in: slice(2, "a b", mixed).with(1, waits).with(1, never).with(1, pressed), want: "Delete 1", held: map[int32]string{0: HeldBudget}},
		{name: "X-05 infeasible, and more are down than may be", in: slice(3, "b- a b", mixed).with(2, waits).with(2, never).with(1, possible), want: "", held: map[int32]string{0: HeldNotReady, 1: HeldBatch, 2: HeldBatch}},
		{name: "X-05 infeasible, a hook", in: slice(2, "a b", mixed).with(1, waits).with(1, never).with(1, hooked), want: "Announce 1 Update", held: map[int32]string{0: HeldBudget, 1: HeldPreDelete}},
		{name: "X-05 infeasible, paused", in: slice(2, "a b", mixed, paused).with(1, waits).with(1, never), want: "", held: map[int32]string{0: HeldPaused, 1: HeldPaused}},
		{name: "X-05 infeasible, below the partition", in: slice(2, "b b", mixed, partition(1)).with(0, waits).with(0, never), want: "", held: map[int32]string{0: HeldResize}},
		{name: "X-05 infeasible, and another revision comes", in: slice(2, "a x", mixed).with(1, waits).with(1, possible).with(1, func(p *Pod) { p.InPlace.Infeasible = true }), want: "BeginInPlace 1", held: map[int32]string{0: HeldBudget}},
	})
	t.Run("X-05 the way out is told", func(t *testing.T) {
		in := slice(1, "b", only).with(0, waits).with(0, never).with(0, func(p *Pod) { p.Change.Blocker = "spec.template.spec.containers[].resources" })
		for _, says := range []string{"spec.template.spec.containers[].resources cannot be changed in place", "no room", "podUpdatePolicy to InPlaceIfPossible"} {
			if message := Decide(in).Held[0].Message; !strings.Contains(message, says) {
				t.Errorf("held because %q, want to be told %q", message, says)
			}
		}
	})
	t.Run("X-05 the roll-out is not complete, though all pods are Ready with its revision", func(t *testing.T) {
		in := slice(1, "b", mixed).with(0, waits)
		in.Revisions.Current = "a"
		if d := Decide(in); d.Complete || d.Status.CurrentRevision != "a" {
			t.Errorf("complete %t, current revision %s", d.Complete, d.Status.CurrentRevision)
		}
	})
	t.Run("X-05 it meets the deadline", func(t *testing.T) {
		in := slice(1, "b", mixed).with(0, waits)
		in.Spec.Deadline = time.Minute
		in.Progress = Progress{Revision: "b", Since: noon.Add(-time.Hour), Updated: 1, Ready: 1, Late: true}
		if d := Decide(in); !d.Progress.Failed {
			t.Errorf("progress %+v", d.Progress)
		}
	})
}

func TestRelabel(t *testing.T) {
	check(t, []row{
		{name: "S-009 D-019 no restart", in: slice(2, "c c").with(0, same).with(1, same), want: "Relabel 0, Relabel 1"},
		{name: "S-009 K-077 it costs no budget", in: slice(3, "a- c c").with(1, same).with(2, same), want: "Relabel 1, Relabel 2, Delete 0"},
		{name: "S-009 paused", in: slice(1, "c", paused).with(0, same), want: "Relabel 0"},
	})
}

// TestRelabelToWhatStays: a pod whose revision has a kept equivalent other than the template's gets the label of that one,
// and is then updated as usual.
func TestRelabelToWhatStays(t *testing.T) {
	only := func(in *Input) { in.Spec.Policy = api.InPlaceOnly }
	duplicate := func(p *Pod) { p.SameAs = "a" }
	check(t, []row{
		{name: "X-17 below the partition", in: slice(3, "d a b", partition(2)).with(0, duplicate), want: "Relabel 0"},
		{name: "X-17 it waits for its turn", in: slice(3, "d a a").with(0, duplicate), want: "Delete 2, Relabel 0"},
		{name: "X-17 it is updated", in: slice(3, "b b d").with(2, duplicate), want: "Delete 2"},
		{name: "X-17 paused", in: slice(1, "d", paused).with(0, duplicate), want: "Relabel 0"},
		{name: "X-17 OnDelete", in: slice(1, "d", by(api.OnDelete)).with(0, duplicate), want: "Relabel 0"},
		{name: "X-17 in place", in: slice(1, "d", only).with(0, possible).with(0, duplicate), want: "BeginInPlace 0"},
		{name: "X-17 in place, under way", in: slice(1, "di", only, paused).with(0, possible).with(0, duplicate), want: ""},
		{name: "X-17 on its way out", in: slice(2, "d! at").with(0, duplicate).with(1, duplicate), want: "Delete 0"},
		{name: "X-17 of the template's, below the partition", in: slice(2, "c b", partition(1)).with(0, same).with(0, func(p *Pod) { p.SameAs = "b" }), want: "Relabel 0"},
	})
	for _, a := range Decide(slice(3, "d a b", partition(2)).with(0, duplicate)).Actions {
		if a.Revision != "a" {
			t.Errorf("relabelled to %s", a.Revision)
		}
	}
}

func TestUnordered(t *testing.T) {
	byPriority := func(in *Input) { in.Spec.Unordered = true }
	in := slice(4, "a a a a", parallel, unavailable(2), byPriority)
	for i, priority := range []int64{10, 20, 10, 0} {
		in.Pods[i].Priority = []int64{priority}
	}
	gaps := slice(10, "a a a . a a a a a a . a", parallel, unavailable(9), byPriority, partition(7), reserved(Range{3, 3}, Range{10, 10}))
	for i := range gaps.Pods {
		gaps.Pods[i].Priority = []int64{map[int32]int64{8: 20, 7: 10}[gaps.Pods[i].Ordinal]}
	}
	check(t, []row{
		{name: "R-036 the largest first, then the highest ordinal", in: in, want: "Delete 1, Delete 2"},
		{name: "the partition holds", in: func() Input { in := in; in.Spec.Partition = 2; return in }(), want: "Delete 2, Delete 3"},
		{name: "R-031 those that have the revision are skipped", in: slice(3, "a b b", parallel, unavailable(3), byPriority), want: "Delete 0"},
		{name: "R-031 all of them in order", in: slice(3, "a a a", parallel, unavailable(3), byPriority), want: "Delete 2, Delete 1, Delete 0"},
		{name: "R-016 at the partition, one below is old", in: slice(3, "a . b", parallel, byPriority, partition(1)), want: "Create 1b"},
		{name: "R-016 at the partition, none below is old", in: slice(3, "b . b", parallel, byPriority, partition(1)), want: "Create 1b"},
		{name: "R-032 those at or above the partition", in: slice(10, "a a a a a a b b a a", parallel, unavailable(9), byPriority, partition(6)), want: "Delete 9, Delete 8"},
		{name: "R-034 gaps in the range", in: gaps, want: "Delete 8, Delete 7, Delete 11, Delete 9"},
	})
}

func TestAnnounce(t *testing.T) {
	grace := func(in *Input) { in.Spec.TerminationGrace = 10 * time.Second }
	carries := func(reason api.TerminationReason, ago time.Duration) func(*Pod) {
		return func(pod *Pod) { pod.Reason, pod.ReasonSince = reason, noon.Add(-ago) }
	}
	migrating := func(in *Input) { in.Spec.Migrating = true }
	silent := func(in *Input) { in.Spec.Tell = api.AnnounceNever }
	ifRead := func(in *Input) { in.Spec.Tell = api.AnnounceIfRead }
	readingTemplate := func(in *Input) { in.Revisions.ReadsReason = true }
	reads := func(pod *Pod) { pod.ReadsReason = true }
	deleting := func(in *Input) { in.Spec.Deleting, in.Spec.DeletingSince = true, noon.Add(-time.Minute/4) }
	check(t, []row{
		{name: "update", in: slice(2, "a a", grace), want: "Announce 1 Update", held: map[int32]string{0: HeldBudget, 1: HeldTerminationGrace}},
		{name: "within the grace", in: slice(2, "a a", grace).with(1, carries(api.TerminationUpdate, 3*time.Second)), want: "", held: map[int32]string{1: HeldTerminationGrace}},
		{name: "after it", in: slice(2, "a a", grace).with(1, carries(api.TerminationUpdate, 10*time.Second)), want: "Delete 1"},
		{name: "another reason is told first", in: slice(1, "a b", grace, settledAt("b")).with(1, carries(api.TerminationUpdate, time.Minute)), want: "Announce 1 ScaleDown"},
		{name: "migration", in: slice(1, "b b", grace, migrating, settledAt("b")), want: "Announce 1 Migration"},
		{name: "asked to go", in: slice(2, "b b*", grace, settledAt("b")), want: "Announce 1 Deletion"},
		{name: "a Failed pod is told nothing", in: slice(2, "b b!", grace, settledAt("b")), want: "Delete 1"},
		{name: "taken back with the update", in: slice(2, "b b", settledAt("b")).with(1, carries(api.TerminationUpdate, 0)), want: "Announce 1 "},
		{name: "taken back by a pause", in: slice(2, "a a", paused).with(1, carries(api.TerminationUpdate, 0)), want: "Announce 1 "},
		{name: "kept while the budget is used up", in: slice(2, "b- a", grace).with(1, carries(api.TerminationUpdate, time.Minute)), want: ""},
		{name: "silent: an update", in: slice(2, "a a", silent), want: "Delete 1"},
		{name: "silent: a scale-down", in: slice(1, "b b", silent, settledAt("b")), want: "Delete 1"},
		{name: "silent: what was told of something else", in: slice(1, "b b", silent, settledAt("b")).with(1, carries(api.TerminationUpdate, 0)), want: "Delete 1"},
		{name: "silent: taken back from who stays", in: slice(2, "b b", silent, settledAt("b")).with(1, carries(api.TerminationUpdate, 0)), want: "Announce 1 "},
		{name: "nobody reads it: an update", in: slice(2, "a a", ifRead), want: "Delete 1"},
		{name: "nobody reads it: a scale-down", in: slice(1, "b b", ifRead, settledAt("b")), want: "Delete 1"},
		{name: "nobody reads it: taken back from who stays", in: slice(2, "b b", ifRead, settledAt("b")).with(1, carries(api.TerminationUpdate, 0)), want: "Announce 1 "},
		{name: "one of two reads it: deletion", in: slice(2, "b b", ifRead, deleting).with(0, reads), want: "Announce 0 Deletion"},
		{name: "one that has ended reads nothing", in: slice(2, "b b!", ifRead, deleting).with(1, reads), want: ""},
		{name: "silent: who could read it", in: slice(1, "b b", silent, settledAt("b")).with(1, reads), want: "Delete 1"},
		{name: "silent: deletion", in: slice(2, "b b", silent, deleting), want: ""},
		{name: "deletion", in: slice(2, "b bt", deleting), want: "Announce 0 Deletion"},
		{name: "deletion, told", in: slice(1, "b", deleting).with(0, carries(api.TerminationDeletion, 0)), want: ""},
	})
	for _, c := range []struct {
		name string
		in   Input
		want bool
		wait time.Duration
	}{
		{"no pods", slice(2, "", deleting), false, 0},
		{"not told yet", slice(2, "b b", deleting), true, 15 * time.Second},
		{"told, Terminating and ended", slice(3, "b bt b!", deleting).with(0, carries(api.TerminationDeletion, 0)), false, 0},
		{"told of something else", slice(1, "b", deleting).with(0, carries(api.TerminationUpdate, 0)), true, 15 * time.Second},
		{"within the grace", slice(1, "b", deleting, grace).with(0, carries(api.TerminationDeletion, 4*time.Second)), true, 6 * time.Second},
		{"silent", slice(2, "b b", deleting, silent), false, 0},
		{"the pods stay", slice(2, "b b", deleting, func(in *Input) { in.Spec.Orphaning = true }), false, 0},
		{"they cannot be told", slice(2, "b b", deleting, func(in *Input) { in.Spec.DeletingSince = noon.Add(-time.Minute) }), false, 0},
		{"nobody reads it", slice(2, "b b", deleting, ifRead), false, 0},
		{"one reads it", slice(2, "b b", deleting, ifRead).with(1, reads), true, 15 * time.Second},
		{"it is not deleted", slice(0, ""), true, 0},
		{"not deleted, silent", slice(1, "b", silent), false, 0},
		{"X-26 not deleted, nobody reads it", slice(1, "b", ifRead), false, 0},
		{"X-26 not deleted, a pod reads it", slice(1, "b", ifRead).with(0, reads), true, 0},
		{"X-26 not deleted, the only pod that reads it goes", slice(0, "bt", ifRead).with(0, reads), false, 0},
		{"X-26 not deleted, new pods will read it", slice(0, "", ifRead, readingTemplate), true, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			if d := Decide(c.in); d.Finalizer != c.want || d.Wait != c.wait {
				t.Errorf("finalizer: %t, wait %s; want %t, %s", d.Finalizer, d.Wait, c.want, c.wait)
			}
		})
	}
	d := Decide(slice(2, "a a"))
	if len(d.Actions) != 2 || d.Actions[0].Verb != Announce || d.Actions[1].Verb != Delete || d.Actions[1].Reason != api.TerminationUpdate {
		t.Errorf("without a grace a pod is told, and deleted in the same pass: %v", d.Actions)
	}
}

func TestStatus(t *testing.T) {
	for _, c := range []struct {
		name string
		in   Input
		want Status
	}{
		{"K-012 settled", slice(3, "b b b"), Status{Replicas: 3, Ready: 3, Available: 3, Current: 3, Updated: 3, UpdatedReady: 3, UpdatedAvailable: 3, CurrentRevision: "b"}},
		{"S-010 in mid-way", slice(3, "a a b-"), Status{Replicas: 3, Ready: 2, Available: 2, Current: 2, Updated: 1, CurrentRevision: "a"}},
		{"K-022 a pod could not be deleted", slice(3, "a a a"), Status{Replicas: 3, Ready: 3, Available: 3, Current: 3, CurrentRevision: "a"}},
		{"K-022 then it is gone", slice(3, "a a ."), Status{Replicas: 2, Ready: 2, Available: 2, Current: 2, CurrentRevision: "a"}},
		{"K-079 G-07 not all are Ready", slice(3, "b b b-"), Status{Replicas: 3, Ready: 2, Available: 2, Updated: 3, UpdatedReady: 2, UpdatedAvailable: 2, CurrentRevision: "a"}},
		{"K-079 G-07 availability is not needed", slice(1, "b3", minReady(60)), Status{Replicas: 1, Ready: 1, Current: 1, Updated: 1, UpdatedReady: 1, CurrentRevision: "b"}},
		{"K-079 too many pods", slice(1, "b b"), Status{Replicas: 2, Ready: 2, Available: 2, Updated: 2, UpdatedReady: 2, UpdatedAvailable: 2, CurrentRevision: "a"}},
		{"K-079 one is yet to go", slice(2, "b b a-"), Status{Replicas: 3, Ready: 2, Available: 2, Current: 1, Updated: 2, UpdatedReady: 2, UpdatedAvailable: 2, CurrentRevision: "a"}},
		{"K-056 partition", slice(3, "a b b", partition(1)), Status{Replicas: 3, Ready: 3, Available: 3, Current: 1, Updated: 2, UpdatedReady: 2, UpdatedAvailable: 2, CurrentRevision: "a"}},
		{"K-056 Terminating", slice(3, "at- b b", partition(1)), Status{Replicas: 3, Ready: 2, Available: 2, Updated: 2, UpdatedReady: 2, UpdatedAvailable: 2, CurrentRevision: "a"}},
		{"K-027 fewer pods than asked for", slice(4, "b b", settledAt("b")), Status{Replicas: 2, Ready: 2, Available: 2, Current: 2, Updated: 2, UpdatedReady: 2, UpdatedAvailable: 2, CurrentRevision: "b"}},
		{"K-093 minReadySeconds", slice(4, "b b b1 b-", settledAt("b"), minReady(3)), Status{Replicas: 4, Ready: 3, Available: 2, Current: 4, Updated: 4, UpdatedReady: 3, UpdatedAvailable: 2, CurrentRevision: "b"}},
		{"K-091 not available yet", slice(2, "b1 b1", settledAt("b"), minReady(30), parallel), Status{Replicas: 2, Ready: 2, Current: 2, Updated: 2, UpdatedReady: 2, CurrentRevision: "b"}},
		{"K-092 minReadySeconds is raised", slice(2, "b b", settledAt("b"), minReady(3601)), Status{Replicas: 2, Ready: 2, Current: 2, Updated: 2, UpdatedReady: 2, CurrentRevision: "b"}},
		{"K-090 K-092 and taken away", slice(2, "b b0", settledAt("b")), Status{Replicas: 2, Ready: 2, Available: 2, Current: 2, Updated: 2, UpdatedReady: 2, UpdatedAvailable: 2, CurrentRevision: "b"}},
		{"K-094 old enough", slice(1, "b", settledAt("b"), minReady(3600)), Status{Replicas: 1, Ready: 1, Available: 1, Current: 1, Updated: 1, UpdatedReady: 1, UpdatedAvailable: 1, CurrentRevision: "b"}},
		{"K-010 to nothing", slice(0, ""), Status{CurrentRevision: "b"}},
		{"k/k#121534 to nothing, with a partition", slice(0, "", partition(3)), Status{CurrentRevision: "a"}},
		{"K-098 OnDelete in mid-way", slice(2, "a b", by(api.OnDelete)), Status{Replicas: 2, Ready: 2, Available: 2, Current: 1, Updated: 1, UpdatedReady: 1, UpdatedAvailable: 1, CurrentRevision: "a"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := Decide(c.in).Status; got != c.want {
				t.Errorf("got  %+v\nwant %+v", got, c.want)
			}
		})
	}
}

func TestWait(t *testing.T) {
	deadline := func(in *Input) {
		in.Spec.Deadline = time.Minute
		in.Progress = Progress{Revision: "b", Since: noon.Add(-50 * time.Second), Updated: 2, Late: true}
	}
	for _, c := range []struct {
		name string
		in   Input
		want time.Duration
	}{
		{"nothing to wait for", slice(1, "b", settledAt("b"), minReady(5)), 0},
		{"K-095 the first to be available", slice(4, "b3 b4 b1 b2", settledAt("b"), minReady(5)), time.Second},
		{"K-095 to the millisecond", slice(1, "b", settledAt("b"), minReady(5)).with(0, func(p *Pod) { p.ReadySince = noon.Add(-4300 * time.Millisecond) }), 700 * time.Millisecond},
		{"the grace of a reason", slice(1, "a", func(in *Input) { in.Spec.TerminationGrace = 7 * time.Second }), 7 * time.Second},
		{"D-043 the deadline", slice(1, "b-", deadline), 10 * time.Second},
		{"D-043 the shorter one", slice(2, "b- b4", deadline, minReady(5)), time.Second},
		{"D-043 not when paused", slice(1, "b-", deadline, paused), 0},
		{"D-043 not when complete", slice(1, "b", deadline), 0},
		{"D-043 not without a deadline", slice(1, "b-"), 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := Decide(c.in).Wait; got != c.want {
				t.Errorf("got %v, want %v", got, c.want)
			}
		})
	}
}

func TestProgress(t *testing.T) {
	rolling := func(ago time.Duration, updated, readies int32) func(*Input) {
		return func(in *Input) {
			in.Spec.Deadline = time.Minute
			in.Progress = Progress{Revision: "b", Since: noon.Add(-ago), Updated: updated, Ready: readies, Late: true}
		}
	}
	back := func(in *Input) { in.Spec.OnFailure = api.Rollback }
	for _, c := range []struct {
		name           string
		in             Input
		failed, onward bool
		rollBack       bool
		complete       bool
	}{
		{name: "D-033 within the deadline", in: slice(3, "a a b-", rolling(59*time.Second, 1, 0))},
		{name: "D-033 K-070 the deadline has passed", in: slice(3, "a a b-", rolling(time.Minute, 1, 0)), failed: true},
		{name: "D-033 it gets on after all", in: slice(3, "a a b", rolling(time.Hour, 1, 0)), onward: true},
		{name: "D-033 it had failed before that", in: slice(3, "a a b", rolling(time.Hour, 1, 0), func(in *Input) { in.Progress.Failed = true }), onward: true},
		{name: "D-033 complete", in: slice(3, "b b b", rolling(30*time.Second, 3, 2)), onward: true, complete: true},
		{name: "D-033 a new pod is progress", in: slice(3, "a a b-", rolling(time.Hour, 0, 0)), onward: true},
		{name: "a pod that crashes and comes back is not", in: slice(3, "a b- b", rolling(30*time.Second, 2, 1))},
		{name: "another revision begins anew", in: slice(3, "a a a", func(in *Input) {
			in.Spec.Deadline = time.Minute
			in.Progress = Progress{Revision: "x", Since: noon.Add(-time.Hour), Updated: 3, Ready: 3, Failed: true}
		}), onward: true},
		{name: "rolled back", in: slice(3, "a a b-", rolling(time.Minute, 1, 0), back), failed: true, rollBack: true},
		{name: "Y4 it stays failed, whatever its pods do", in: slice(3, "a a b", rolling(time.Hour, 1, 0), back, func(in *Input) { in.Revisions.Failed = true }), failed: true, rollBack: true},
		{name: "Y4 also while it is paused", in: slice(3, "b b b", rolling(time.Hour, 1, 0), back, paused, func(in *Input) { in.Revisions.Failed = true }), failed: true, rollBack: true},
		{name: "X-01 claims alone cannot be taken back", in: slice(3, "a a b-", rolling(time.Minute, 1, 0), back, func(in *Input) { in.Revisions.SameTemplate = true }), failed: true},
		{name: "X-01 nor is what has become the current one", in: slice(3, "b3 b3 b3", minReady(600), rolling(11*time.Minute, 3, 3), back), failed: true},
		{name: "nothing to roll back to", in: slice(3, "b b b-", rolling(time.Minute, 3, 2), back, settledAt("b")), failed: true},
		{name: "paused", in: slice(3, "a a b-", rolling(time.Hour, 1, 0), back, paused)},
		{name: "it waits for a migration", in: slice(3, "a a b-", rolling(time.Hour, 1, 0), back, func(in *Input) { in.Spec.Migrating, in.Spec.Share = true, new(int32(0)) })},
		{name: "a migration lets it go on", in: slice(3, "a a b-", rolling(time.Minute, 1, 0), func(in *Input) { in.Spec.Migrating, in.Spec.Share = true, new(int32(1)) }), failed: true},
		{name: "no deadline", in: slice(3, "a a b-", rolling(time.Hour, 1, 0), func(in *Input) { in.Spec.Deadline = 0 })},
		{name: "a crash long after the end is no failure", in: slice(3, "b b b-", rolling(time.Hour, 3, 3), func(in *Input) { in.Progress.Complete = true }), complete: true},
		{name: "scaled down in mid-way", in: slice(2, "a b-", rolling(30*time.Second, 3, 3))},
		{name: "and on", in: slice(2, "a b", func(in *Input) {
			rolling(30*time.Second, 1, 0)(in)
		}), onward: true},
		{name: "deleting", in: slice(2, "a b-", rolling(time.Minute, 1, 0), back, func(in *Input) { in.Spec.Deleting = true })},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := Decide(c.in)
			onward := d.Progress.Since.Equal(noon)
			if (d.Progress.Message != "") != c.failed {
				t.Errorf("it says: %q", d.Progress.Message)
			}
			if rollBack := d.FailedRevision != ""; d.Progress.Failed != c.failed || onward != c.onward || rollBack != c.rollBack || d.Progress.Complete != c.complete {
				t.Errorf("failed %v, onward %v, rollBack %v, complete %v", d.Progress.Failed, onward, rollBack, d.Progress.Complete)
			}
		})
	}
	if got := Decide(slice(3, "a b- b-", rolling(0, 2, 1))).Progress.Ready; got != 1 {
		t.Errorf("a crash takes back what was got to: %d", got)
	}
	if got := Decide(slice(2, "a b-", rolling(0, 3, 3))).Progress; got.Updated != 1 || got.Ready != 1 {
		t.Errorf("more Ready pods are remembered than there are: %+v", got)
	}
	check(t, []row{{name: "a roll-out that is taken back touches no other pod", in: slice(3, "a a b-", rolling(time.Minute, 1, 0), back, unavailable(3)), want: "", held: map[int32]string{0: HeldRollback}}})
}
