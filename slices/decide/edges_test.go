package decide

import (
	"math"
	"slices"
	"testing"
	"time"

	api "github.com/sliceshift/sliceshift/api/apps/v1alpha1"
)

// servingPod returns a pod of a revision that has been Ready for an hour.
func servingPod(ordinal int32, revision string, change func(*Pod)) Pod {
	pod := Pod{
		Ordinal: ordinal, UID: "u", Revision: revision, Phase: Running, Ready: true, ReadySince: noon.Add(-time.Hour),
		IdentityOK: true, ClaimsOK: true,
	}
	if change != nil {
		change(&pod)
	}
	return pod
}

// rolling returns an input whose set rolls out revision r2.
func rolling(spec Spec, pods ...Pod) Input {
	if spec.Strategy == "" {
		spec.Strategy = api.RollingUpdate
	}
	return Input{Now: noon, Spec: spec, Revisions: Revisions{Current: "r1", Update: "r2"}, Pods: pods}
}

func verbs(d Decision, verb Verb) (ordinals []int32) {
	for _, a := range d.Actions {
		if a.Verb == verb {
			ordinals = append(ordinals, a.Ordinal)
		}
	}
	return ordinals
}

func heldFor(d Decision, ordinal int32) string {
	for _, h := range d.Held {
		if h.Ordinal == ordinal {
			return h.Reason
		}
	}
	return ""
}

// TestServes: a pod serves when it is Running and Ready. Without minReadySeconds, a clock that is behind causes no wait.
func TestServes(t *testing.T) {
	pending := servingPod(0, "r2", func(p *Pod) { p.Phase = Pending })
	if ready(&pending) {
		t.Error("a pod that does not run is Ready")
	}
	ahead := servingPod(0, "r2", func(p *Pod) { p.ReadySince = noon.Add(time.Minute) })
	if d := newDecider(rolling(Spec{Replicas: 1, MaxUnavailable: 1}, ahead)); !d.available(&d.Pods[0]) {
		t.Error("a pod that is Ready since later is not available")
	}
}

// TestYoungPodsServe: a pod that is Ready, but not yet for minReadySeconds, is already charged to the budget. It is updated
// only while the budget is not exceeded.
func TestYoungPodsServe(t *testing.T) {
	inPlace := func(in *Input) { in.Spec.Policy = api.InPlaceIfPossible }
	begun := func(p *Pod) {
		possible(p)
		p.InPlace = &InPlace{Revision: "b", Since: noon}
	}
	young := []func(*Input){minReady(60)}
	with := func(more ...func(*Input)) []func(*Input) { return append(slices.Clone(young), more...) }
	check(t, []row{
		{name: "X-08 three Ready pods do not go at once", in: slice(3, "a5 a5 a5", young...), want: "", held: map[int32]string{0: HeldBudget, 1: HeldBudget, 2: HeldBudget}},
		{name: "X-08 nor in Parallel", in: slice(3, "a5 a5 a5", with(parallel, unavailable(2))...), want: ""},
		{name: "X-08 nor one by one", in: slice(3, "a a5 a5", young...), want: ""},
		{name: "X-08 the one that the budget has room for goes", in: slice(3, "a a5 a", young...), want: "Delete 1", held: map[int32]string{2: HeldBudget}},
		{name: "X-08 two, with maxUnavailable 2", in: slice(3, "a5 a5 a", with(unavailable(2))...), want: "Delete 1, Delete 0"},
		{name: "X-08 not beside one that is not Ready", in: neverUp(slice(3, "a a5 a-", young...)), want: "Delete 2", held: map[int32]string{1: HeldBudget}},
		{name: "X-08 nor before the pods updated before are available", in: slice(3, "a a5 b5", with(unavailable(2))...), want: "", held: map[int32]string{0: HeldBatch, 1: HeldBatch}},
		{name: "X-08 a roll-out is rolled over without waiting for the pod that it broke", in: slice(3, "a a x5", young...), want: "Delete 2"},
		{name: "X-08 nothing goes while a migration has the budget", in: slice(3, "a a a5", with(func(in *Input) { in.Spec.Migrating, in.Spec.Share = true, new(int32(0)) })...), want: ""},
		{name: "X-08 one that is asked to go waits", in: slice(3, "b5 b5* b", with(settledAt("b"))...), want: "", held: map[int32]string{1: HeldBudget}},
		{name: "X-08 it stands in when the one above the range is available", in: slice(2, "a a5 b", with(unavailable(0), surge(1))...), want: "Delete 1"},
		{name: "X-08 and not before", in: slice(2, "a a5 b5", with(unavailable(0), surge(1))...), want: ""},
		{name: "X-08 in place, begun: its kubelet says that it is Ready still", in: slice(3, "a5 a5 a5", with(inPlace)...).with(2, begun), want: "", held: map[int32]string{2: HeldInPlaceGrace}},
		{name: "X-08 in place: none is begun", in: slice(3, "a5 a5 a5", with(inPlace)...).with(2, possible), want: ""},
	})
}

// TestLargestNumbers: the largest numbers that a manifest may have work without overflow.
func TestLargestNumbers(t *testing.T) {
	most := unavailable(math.MaxInt32)
	check(t, []row{
		{name: "X-22 maxUnavailable with maxSurge", in: slice(3, "a a a b", parallel, most, surge(1)), want: "Delete 2, Delete 1, Delete 0"},
		{name: "X-22 in order", in: slice(3, "a a a b", most, surge(1)), want: "Delete 2, Delete 1, Delete 0"},
		{name: "X-22 the share of a migration", in: slice(3, "a a a", parallel, most, func(in *Input) { in.Spec.Share = new(int32(math.MaxInt32)) }), want: "Delete 2, Delete 1, Delete 0"},
		{name: "X-22 scaleStrategy", in: slice(3, "", parallel, func(in *Input) { in.Spec.ScaleMaxUnavailable = math.MaxInt32 }), want: "Create 0b, Create 1b, Create 2b"},
		{name: "X-22 partition", in: slice(3, "a a a", partition(math.MaxInt32)), want: ""},
		{name: "X-22 the last ordinals", in: slice(2, "2147483646: a a", from(math.MaxInt32-1), surge(2)), want: "Delete 2147483647"},
		{name: "X-22 minReadySeconds", in: slice(2, "a b", minReady(math.MaxInt32)), want: "", held: map[int32]string{0: HeldBatch, 1: HeldMinReady}},
		{name: "X-22 the deadline", in: slice(2, "a b", minReady(math.MaxInt32), since(time.Hour, Progress{Updated: 1, Ready: 1}), func(in *Input) { in.Spec.Deadline = seconds(math.MaxInt32) }), want: "", held: map[int32]string{0: HeldBatch}},
	})
}

// TestPartitionIsOfRollingUpdate: other strategies ignore a partition.
func TestPartitionIsOfRollingUpdate(t *testing.T) {
	for strategy, want := range map[api.UpdateStrategyType]int32{api.RollingUpdate: 2, api.OnDelete: 0, api.Recreate: 0} {
		if got := newDecider(rolling(Spec{Strategy: strategy, Partition: 2})).partition(); got != want {
			t.Errorf("%s: %d, want %d", strategy, got, want)
		}
	}
}

// TestInScope: the update applies to ordinals of the slice from the partition on, and to pods that stay.
func TestInScope(t *testing.T) {
	in := rolling(Spec{Replicas: 3, Start: 1, Partition: 2, MaxUnavailable: 1}, servingPod(2, "r1", nil), servingPod(3, "r1", func(p *Pod) { p.Phase = Failed }), servingPod(9, "r1", nil))
	d := newDecider(in)
	for ordinal, want := range map[int32]bool{0: false, 1: false, 2: true, 3: true, 9: false} {
		if got := d.inScope(ordinal); got != want {
			t.Errorf("ordinal %d is in scope: %t", ordinal, got)
		}
	}
	for i, want := range map[int]bool{0: true, 1: false, 2: false} {
		if got := d.toUpdate(&d.Pods[i]); got != want {
			t.Errorf("ordinal %d is to be updated: %t", d.Pods[i].Ordinal, got)
		}
	}
	if d.outdated(&Pod{Revision: "r2"}) || !d.outdated(&Pod{Revision: "r1"}) || d.outdated(&Pod{Revision: "r1", Change: Change{Same: true}}) {
		t.Error("a pod is outdated when its revision is another one and means something else")
	}
}

// TestUpdating: nothing is updated while the set is paused, while the update is rolled back, or with OnDelete.
func TestUpdating(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*decider)
		want   bool
	}{
		"rolling":    {func(*decider) {}, true},
		"paused":     {func(d *decider) { d.Spec.Paused = true }, false},
		"taken back": {func(d *decider) { d.rollingBack = true }, false},
		"on delete":  {func(d *decider) { d.strategy = onDelete }, false},
	} {
		d := newDecider(rolling(Spec{Replicas: 1, MaxUnavailable: 1}, servingPod(0, "r1", nil)))
		if tc.change(d); d.updating() != tc.want {
			t.Errorf("%s: updating %t", name, !tc.want)
		}
	}
	for name, tc := range map[string]struct {
		spec   Spec
		change Change
		want   bool
	}{
		"one is left":       {Spec{Replicas: 1}, Change{}, true},
		"paused":            {Spec{Replicas: 1, Paused: true}, Change{}, true},
		"on delete":         {Spec{Replicas: 1, Strategy: api.OnDelete}, Change{}, false},
		"it is impossible":  {Spec{Replicas: 1, Policy: api.InPlaceOnly}, Change{}, false},
		"possible in place": {Spec{Replicas: 1, Policy: api.InPlaceOnly}, Change{InPlace: true}, true},
	} {
		d := newDecider(rolling(tc.spec, servingPod(0, "r1", func(p *Pod) { p.Change = tc.change })))
		if got := d.remaining(); got != tc.want {
			t.Errorf("%s: remaining %t", name, got)
		}
	}
}

// TestDeletionIsAnnounced: a set in deletion waits until each of its pods has its termination reason, and no longer than
// necessary. Terminating pods get none.
func TestDeletionIsAnnounced(t *testing.T) {
	spec := Spec{Replicas: 3, Deleting: true, DeletingSince: noon, TerminationGrace: 10 * time.Second}
	told := func(since time.Time) func(*Pod) {
		return func(p *Pod) { p.Reason, p.ReasonSince = api.TerminationDeletion, since }
	}
	d := Decide(rolling(spec, servingPod(0, "r2", func(p *Pod) { p.Terminating = true }), servingPod(1, "r2", nil), servingPod(2, "r2", told(noon))))
	if got := verbs(d, Announce); !slices.Equal(got, []int32{1}) || !d.Finalizer || d.Wait != 10*time.Second {
		t.Errorf("tells %v, keeps it %t, looks again after %s", got, d.Finalizer, d.Wait)
	}
	d = Decide(rolling(spec, servingPod(1, "r2", nil)))
	if !d.Finalizer || d.Wait != waitToTell {
		t.Errorf("of one that is told now: keeps it %t, looks again after %s", d.Finalizer, d.Wait)
	}
	d = Decide(rolling(spec, servingPod(0, "r2", told(noon)), servingPod(1, "r2", told(noon.Add(-time.Minute)))))
	if !d.Finalizer {
		t.Error("it lets go though the first one has not had its time")
	}
	spec.DeletingSince = noon.Add(-waitToTell - spec.TerminationGrace)
	if d := Decide(rolling(spec, servingPod(1, "r2", nil))); d.Finalizer {
		t.Error("it is kept for a pod that cannot be told")
	}
}

// TestRemoved: a pod that has ended is deleted at once, as is each pod of a set without termination reasons. All of them are
// recorded as going.
func TestRemoved(t *testing.T) {
	grace := Spec{Replicas: 1, TerminationGrace: time.Minute, MaxUnavailable: 1}
	ended := servingPod(0, "r2", func(p *Pod) { p.Phase = Failed })
	if d := Decide(rolling(grace, ended)); !slices.Equal(verbs(d, Delete), []int32{0}) || len(verbs(d, Announce)) > 0 {
		t.Errorf("one that has ended: %+v", d.Actions)
	}
	silent := grace
	silent.Tell = api.AnnounceNever
	if d := Decide(rolling(silent, servingPod(0, "r2", nil), servingPod(1, "r2", nil))); !slices.Equal(verbs(d, Delete), []int32{1}) || len(verbs(d, Announce)) > 0 {
		t.Errorf("of a silent set: %+v", d.Actions)
	}
	if d := Decide(rolling(grace, servingPod(0, "r2", nil), servingPod(1, "r2", nil))); !slices.Equal(verbs(d, Announce), []int32{1}) || len(verbs(d, Delete)) > 0 || heldFor(d, 1) != HeldTerminationGrace {
		t.Errorf("of one that tells: %+v, %+v", d.Actions, d.Held)
	}
}

// TestWithdrawn: the termination reason of a pod that stays is removed, but not that of a pod that is deleted or waits for
// its update.
func TestWithdrawn(t *testing.T) {
	announced := func(change func(*Pod)) func(*Pod) {
		return func(p *Pod) {
			p.Reason, p.ReasonSince = api.TerminationUpdate, noon
			if change != nil {
				change(p)
			}
		}
	}
	for name, tc := range map[string]struct {
		pod  Pod
		spec Spec
		want bool
	}{
		"it stays":             {servingPod(0, "r2", announced(nil)), Spec{}, true},
		"it goes":              {servingPod(0, "r2", announced(func(p *Pod) { p.Terminating = true })), Spec{}, false},
		"it is to be updated":  {servingPod(0, "r1", announced(nil)), Spec{TerminationGrace: time.Hour}, false},
		"that is impossible":   {servingPod(0, "r1", announced(nil)), Spec{Policy: api.InPlaceOnly}, true},
		"it is done in place":  {servingPod(0, "r1", announced(func(p *Pod) { p.Change.InPlace = true })), Spec{Policy: api.InPlaceOnly}, true},
		"the update is paused": {servingPod(0, "r1", announced(nil)), Spec{Paused: true}, true},
	} {
		tc.spec.Replicas, tc.spec.MaxUnavailable = 1, 1
		d := Decide(rolling(tc.spec, tc.pod))
		got := slices.ContainsFunc(d.Actions, func(a Action) bool { return a.Verb == Announce && a.Reason == "" })
		if got != tc.want {
			t.Errorf("%s: withdrawn %t: %+v", name, got, d.Actions)
		}
	}
}

// TestPausedMessage: a Recreate during a migration reports why it waits.
func TestPausedMessage(t *testing.T) {
	const paused = "the update is paused"
	for _, tc := range []struct{ migrating, together, plain bool }{{false, false, true}, {true, false, true}, {false, true, true}, {true, true, false}} {
		d := updates{&decider{facts: facts{Input: Input{Spec: Spec{Migrating: tc.migrating}}, strategy: strategy{together: tc.together}}}}
		if got := d.pausedMessage(); (got == paused) != tc.plain {
			t.Errorf("%+v: %s", tc, got)
		}
	}
}

// TestProgressOfWhatIsNotRolledOut: the progress of a set in deletion does not change, and OnDelete has none. Waiting for a
// migration does not fail a roll-out, but a maxUnavailable of 0 does.
func TestProgressOfWhatIsNotRolledOut(t *testing.T) {
	before := Progress{Revision: "r2", Since: noon.Add(-time.Minute), Updated: 1}
	at := func(spec Spec) Progress {
		in := rolling(spec, servingPod(0, "r1", nil), servingPod(1, "r2", nil))
		in.Spec.Replicas, in.Spec.Deadline, in.Progress = 2, time.Hour, before
		return Decide(in).Progress
	}
	if got := at(Spec{Deleting: true}); got != before {
		t.Errorf("while it is deleted: %+v", got)
	}
	if got := at(Spec{Strategy: api.OnDelete}); got != (Progress{}) {
		t.Errorf("on delete: %+v", got)
	}
	none := int32(0)
	if got := at(Spec{Share: &none, MaxSurge: 1}); got.Late {
		t.Errorf("while it waits for a migration: %+v", got)
	}
	if got := at(Spec{MaxSurge: 1}); !got.Late {
		t.Errorf("while a surge pod is missing: %+v", got)
	}
	in := rolling(Spec{MaxSurge: 1, MaxUnavailable: 0}, servingPod(0, "r1", nil), servingPod(1, "r2", nil))
	in.Spec.Replicas, in.Spec.Deadline = 2, time.Hour
	in.Progress = Progress{Revision: "r2", Since: noon.Add(-time.Minute), Updated: 1, Ready: 1, Late: true}
	if got := Decide(in).Progress; got.Since.Equal(noon) {
		t.Error("a set with nothing but surge always gets on")
	}
	part := rolling(Spec{Replicas: 2, Partition: 1, MaxUnavailable: 1}, servingPod(0, "r1", nil), servingPod(1, "r2", nil))
	if !(rollout{newDecider(part)}).rolledOut() {
		t.Error("what is below the partition is waited for")
	}
}
