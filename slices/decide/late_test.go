package decide

import (
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	api "github.com/sliceshift/sliceshift/api/apps/v1alpha1"
)

// TestY3OnlyItsOwnPodsAreLate: a roll-out fails only if a pod of its revision, or the creation of such a pod, is late. What
// keeps the roll-out from its next pod is held for a reason instead.
func TestY3OnlyItsOwnPodsAreLate(t *testing.T) {
	begun := func(changes ...func(*Input)) []func(*Input) {
		return append([]func(*Input){since(time.Hour, Progress{Late: true, Updated: 1, Ready: 1})}, changes...)
	}
	lost := func(p *Pod) { p.Ready, p.Terminating, p.GoneBy = false, true, noon.Add(-time.Hour) }
	claims := func(state GrowthState) func(*Pod) {
		return func(p *Pod) { p.Growth = Growth{State: state, Claim: "data"} }
	}
	stale := func(in *Input) { in.StaleClaims = []int32{2} }
	grace := func(in *Input) { in.Spec.TerminationGrace = time.Minute }
	hooked := func(p *Pod) { p.HeldForDelete = true }
	inPlaceOnly := func(in *Input) { in.Spec.Policy = api.InPlaceOnly }
	unfit := func(p *Pod) {
		p.Change.Same = true
		p.InPlace = &InPlace{Revision: "b", Patched: true, Serves: true, Waits: "no room", Infeasible: true}
	}
	hasDeletion := func(p *Pod) { p.Reason, p.ReasonSince, p.HeldForDelete = api.TerminationDeletion, noon, true }
	share := func(n int32) func(*Input) {
		return func(in *Input) { in.Spec.Migrating, in.Spec.Share = true, &n }
	}
	for _, c := range []struct {
		name   string
		in     Input
		failed bool
		// held is the reason for which an ordinal is held.
		ordinal int32
		held    string
	}{
		{"a sick pod below the partition", slice(3, "a- a b", begun(partition(1), unavailable(2))...), false, 0, HeldNotReady},
		{"one below it that is lost, and refused", slice(3, ". a b", begun(partition(1))...), false, 1, HeldBudget},
		{"one below it that has the revision", slice(4, "b- a a b", begun(partition(2), unavailable(3))...), false, 0, HeldNotReady},
		{"a scaled-away pod stuck Terminating", slice(2, "a b at", begun()...).with(2, lost), false, 0, HeldScaleFirst},
		{"a scaled-away pod of its revision", slice(2, "a b b-", begun()...).with(2, lost), false, 0, HeldScaleFirst},
		{"a scaled-away pod that is told to go", slice(2, "a b b-", begun(grace)...).with(2, hasReason), false, 2, HeldTerminationGrace},
		{"a scaled-away pod that a hook holds", slice(2, "a b b-", begun()...).with(2, hasReason).with(2, hooked), false, 2, HeldPreDelete},
		{"a scaled-away pod that was told, and waits", slice(2, "a b b- b-", begun()...).with(3, hasReason), true, 3, HeldScaleDown},
		{"a lost node beside a healthy update", slice(3, "a at b", begun()...).with(1, lost), false, 0, HeldBatch},
		{"a pod of its revision on a node that does not answer", slice(3, "a a b-", begun()...).with(2, func(p *Pod) { p.LostSince = noon.Add(-time.Hour) }), false, 2, HeldNotReady},
		{"a pod of its revision that a hook makes not Ready before it goes", slice(3, "a a b-*", begun()...).with(2, hasDeletion), false, 2, HeldPreDelete},
		{"a pod of its revision on a lost node", slice(3, "a a bt", begun()...).with(2, lost), false, 2, HeldTerminating},
		{"an old pod that is sick, which the budget keeps", slice(3, "a- a- b", begun()...), false, 1, HeldBudget},
		{"an old pod that is sick, and another waits for it", slice(3, "a- a .", begun()...), false, 2, HeldPredecessor},
		{"a claim of a former pod that is in deletion", slice(3, "a a .", begun(stale)...), false, 2, HeldStaleClaim},
		{"a migration that gives nothing", slice(3, "a a b-", begun(share(0))...), false, 1, HeldBatch},
		{"a scaled-away pod whose claims cannot grow", slice(2, "a b b", begun()...).with(2, claims(Infeasible)), false, 0, HeldScaleFirst},
		{"a pod that leaves below the partition", slice(2, "5: a b 0: b-", begun(from(5), partition(6))...), false, 0, ""},
		{"an equivalent pod that does not have the label yet", slice(3, "a a c-", begun()...).with(2, same), false, 1, HeldBatch},
		{"a file system that grows at its next mount", slice(2, "a b", begun()...).with(1, claims(AwaitsFileSystem)), false, 1, ""},
		{"claims that grow", slice(2, "a b", begun()...).with(0, claims(Growing)), false, 0, HeldClaims},

		{"scaled-away pods that keep each other", slice(2, "a b b- b-", begun()...), true, 2, HeldScaleDown},
		{"a pod of its revision that is not Ready", slice(3, "a a b-", begun()...), true, 2, HeldNotReady},
		{"one that a hook would hold", slice(3, "a a b-", begun()...).with(2, hooked), true, 2, HeldNotReady},
		{"one that its node cannot resize", slice(2, "a b", begun(inPlaceOnly)...).with(1, unfit), true, 1, HeldInPlaceOnly},
		{"one that does not start", slice(3, "a a b?", begun()...), true, 2, HeldNotReady},
		{"one that ends", slice(3, "a a b!", begun()...), true, 0, HeldBatch},
		{"one that is changed in place and does not run", slice(3, "a a bi", begun()...), true, 2, HeldInPlace},
		{"one that stands in", slice(2, "a a b-", begun(unavailable(0), surge(1))...), true, 2, HeldNotReady},
		{"one that is to stand in, and does not come", slice(2, "a a", begun(unavailable(0), surge(1))...), true, 0, HeldBudget},
		{"one whose creation is refused", slice(3, "a a .", begun()...), true, 1, HeldBatch},
		{"one whose creation is refused, beside a lost node", slice(3, "at . b", begun(unavailable(2), parallel)...).with(0, lost), true, 0, HeldTerminating},
		{"one beside a sick pod below the partition", slice(3, "a- a b-", begun(partition(1), unavailable(3))...), true, 0, HeldNotReady},
		{"a file system that did not grow at its mount", slice(2, "a b", begun()...).with(1, claims(AwaitsFileSystem)).with(1, func(p *Pod) { p.Growth.Anew = true }), true, 1, HeldClaims},
		{"claims that their driver cannot grow", slice(2, "a b", begun()...).with(0, claims(Infeasible)), true, 0, HeldInfeasible},
	} {
		for _, onFailure := range []api.OnFailure{api.Halt, api.Rollback} {
			t.Run(c.name+", "+string(onFailure), func(t *testing.T) {
				c.in.Spec.OnFailure = onFailure
				d := Decide(c.in)
				if d.Progress.Failed != c.failed || (d.FailedRevision != "") != (c.failed && onFailure == api.Rollback) {
					t.Errorf("failed %t, and %q is taken back; held %v", d.Progress.Failed, d.FailedRevision, d.Held)
				}
				if rollsBack := d.FailedRevision != "" && heldAs(d, c.ordinal) == HeldRollback; heldAs(d, c.ordinal) != c.held && !rollsBack {
					t.Errorf("ordinal %d is held for %q, want %q", c.ordinal, heldAs(d, c.ordinal), c.held)
				}
			})
		}
	}
}

// TestLingers: a pod lingers if the slice neither owns it nor uses it as a surge pod, and the partition does not exempt it.
func TestLingers(t *testing.T) {
	moved := slice(2, "5: a b 0: b-", from(5))
	for name, tc := range map[string]struct {
		in      Input
		ordinal int32
		want    bool
	}{
		"it is owned":                   {slice(2, "a a b b-", surge(1)), 1, false},
		"it is a surge pod":             {slice(2, "a a b b-", surge(1)), 2, false},
		"it is neither":                 {slice(2, "a a b b-", surge(1)), 3, true},
		"it leaves below the range":     {moved, 0, true},
		"it leaves below the partition": {slice(2, "5: a b 0: b-", from(5), partition(6)), 0, false},
	} {
		d := newDecider(tc.in)
		if got := (rollout{d}).lingers(d.at[tc.ordinal]); got != tc.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

// checkLate checks D8: a roll-out fails only while one of its pods is late, or the creation of one.
func checkLate(t failer, in Input, d Decision) {
	t.Helper()
	if !d.Progress.Failed || in.Spec.Deleting || in.Revisions.Failed {
		return
	}
	if d.Progress.Blocked {
		if in.Revisions.Blocked == "" || d.Progress.Message != in.Revisions.Blocked || d.FailedRevision != "" {
			t.Fatalf("D8: it has failed for an input: %+v, failed revision %q", d.Progress, d.FailedRevision)
		}
		return
	}
	late := func(pod Pod) bool {
		lingers := !slices.Contains(counted(in), pod.Ordinal) && abovePartition(in, pod.Ordinal)
		return (inUpdate(in, pod.Ordinal) || lingers) && isLate(in, &pod)
	}
	missing := func(ordinal int32) bool {
		return inUpdate(in, ordinal) && podAt(in, ordinal) == nil && !slices.Contains(in.StaleClaims, ordinal)
	}
	if !slices.ContainsFunc(in.Pods, late) && !slices.ContainsFunc(counted(in), missing) {
		t.Fatalf("D8: it has failed, and no pod of it is late: %+v; held %+v", d.Progress, d.Held)
	}
	if !strings.Contains(d.Progress.Message, "the pod of ordinal ") {
		t.Fatalf("it does not say which pod: %q", d.Progress.Message)
	}
}

func abovePartition(in Input, ordinal int32) bool {
	return in.Spec.Strategy != api.RollingUpdate || ordinal >= in.Spec.Partition
}

// inUpdate reports whether an ordinal gets a pod of the update.
func inUpdate(in Input, ordinal int32) bool {
	return in.Spec.Owns(ordinal) && abovePartition(in, ordinal) || slices.Contains(in.Surges(), ordinal)
}

// isLate reports whether a pod has the update revision and is not available, or cannot get it.
func isLate(in Input, pod *Pod) bool {
	refused := slices.ContainsFunc(in.Refused, func(r Refusal) bool {
		return r.Ordinal == pod.Ordinal && (r.Verb == PatchInPlace || r.Verb == GrowClaims)
	})
	infeasible := pod.InPlace != nil && pod.InPlace.Infeasible || pod.Growth.State == Infeasible
	its := pod.Revision == in.Revisions.Update && (!serves(in, pod) || pod.Growth.State == AwaitsFileSystem)
	return !pod.Terminating && pod.LostSince.IsZero() && (refused || infeasible || its)
}

// TestY3StalledMeansLate: D8 holds for any input.
func TestY3StalledMeansLate(t *testing.T) {
	property(t, func(t *rapid.T, in Input, d Decision) { checkLate(t, in, d) })
}

// TestY3DeadlineOfTheLate: the deadline counts from the time at which a pod became late, however long the roll-out was held
// before.
func TestY3DeadlineOfTheLate(t *testing.T) {
	spec := slice(3, "").Spec
	spec.Deadline, spec.MaxUnavailable, spec.Parallel, spec.OnFailure = 5*time.Minute, 1, true, api.Rollback
	w := newWorld(t, spec)
	w.run()
	w.in.Revisions.Update, w.lingers = "x1", 10*time.Hour
	pass := func(after time.Duration) Progress {
		w.in.Now = w.in.Now.Add(after)
		p := w.reconcile(1000).Progress
		for _, ordinal := range w.ordinals() {
			w.on(w.pods[ordinal])
		}
		return p
	}
	for range 9 {
		if p := pass(time.Hour); p.Failed || p.Late {
			t.Fatalf("while a pod ends: %+v", p)
		}
	}
	w.pods[2].GoneBy = w.in.Now
	for range 5 {
		if p := pass(time.Minute); p.Failed {
			t.Fatalf("its pod is not late yet: %+v; %v", p, w.observeSorted())
		}
	}
	for range 5 {
		if pass(time.Minute).Failed {
			return
		}
	}
	t.Errorf("it does not fail: %+v; %v", w.in.Progress, w.observeSorted())
}
