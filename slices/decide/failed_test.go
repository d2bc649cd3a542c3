package decide

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	api "github.com/sliceshift/sliceshift/api/apps/v1alpha1"
)

// checkFailed checks that no pod gets a revision whose roll-out has failed and is rolled back, and that the set stays failed.
func checkFailed(t failer, in Input, d Decision) {
	t.Helper()
	if d.FailedRevision == "" {
		if in.Revisions.Failed {
			t.Fatalf("a failed revision is forgotten: %+v", d.Progress)
		}
		return
	}
	if d.FailedRevision != in.Revisions.Update || !d.Progress.Failed || d.Readiness.Ready || d.Complete || d.Status.CurrentRevision != in.Revisions.Current {
		t.Fatalf("%s has failed: %+v, %+v, current revision %s", d.FailedRevision, d.Progress, d.Readiness, d.Status.CurrentRevision)
	}
	for _, a := range d.Actions {
		pod := podAt(in, a.Ordinal)
		merges := a.Verb == Relabel && pod.SameAs == a.Revision
		gets := a.Verb == Create || a.Verb == BeginInPlace || a.Verb == PatchInPlace || a.Verb == Relabel || a.Verb == PrePull || a.Verb == GrowClaims
		if gets && !merges && a.Revision == in.Revisions.Update {
			t.Fatalf("%+v, though its revision has failed", a)
		}
	}
}

// TestY4FailedRevisionGetsNoPod: checkFailed holds for any input.
func TestY4FailedRevisionGetsNoPod(t *testing.T) {
	property(t, func(t *rapid.T, in Input, d Decision) { checkFailed(t, in, d) })
}

// backToCurrent checks that every pod serves at the current revision, and that the roll-out stays failed.
func (w *world) backToCurrent(t failer) {
	t.Helper()
	in := w.observe()
	d := Decide(in)
	if in.Revisions.Update != "x1" || !in.Revisions.Failed || !d.Progress.Failed || d.Readiness.Reason != api.ReasonRevisionFailed {
		t.Fatalf("%+v; %+v; %+v; held %+v; %v", in.Revisions, d.Progress, d.Readiness, d.Held, w.observeSorted())
	}
	for _, ordinal := range in.Spec.Ordinals() {
		if pod := podAt(in, ordinal); !serves(in, pod) || meaning(pod.Revision) != meaning(in.Revisions.Current) {
			t.Fatalf("ordinal %d: %+v; held %+v; %s", ordinal, pod, d.Held, short(d))
		}
	}
	if len(in.Pods) != len(in.Spec.Ordinals()) || len(d.Actions) > 0 {
		t.Fatalf("not at rest: %s; %v", short(d), w.observeSorted())
	}
}

// TestY4TakenBack: a failed roll-out with onFailure: Rollback is rolled back and stays so. Another template is rolled out.
func TestY4TakenBack(t *testing.T) {
	for _, strategy := range []api.UpdateStrategyType{api.RollingUpdate, api.Recreate} {
		for _, isParallel := range []bool{false, true} {
			for _, policy := range []api.PodUpdatePolicy{api.ReCreate, api.InPlaceIfPossible} {
				for _, bounds := range [][2]int32{{1, 0}, {4, 0}, {0, 1}, {1, 2}} {
					t.Run(fmt.Sprintf("D-033, U-04 %s %s Parallel %t maxUnavailable %d maxSurge %d", strategy, policy, isParallel, bounds[0], bounds[1]), func(t *testing.T) {
						spec := slice(4, "").Spec
						spec.Strategy, spec.Parallel, spec.OnFailure, spec.Deadline, spec.Policy = strategy, isParallel, api.Rollback, 5*time.Minute, policy
						if spec.MaxUnavailable, spec.MaxSurge = bounds[0], bounds[1]; strategy == api.Recreate {
							spec.MaxUnavailable, spec.MaxSurge = 1, 0
						}
						w := newWorld(t, spec)
						w.run()
						w.in.Revisions.Update = "x1"
						for range 10 {
							w.run()
							w.in.Now = w.in.Now.Add(10 * time.Minute)
						}
						w.backToCurrent(t)
						if w.rolledBack != 1 {
							t.Errorf("taken back %d times", w.rolledBack)
						}
						w.in.Spec.Replicas = 6
						w.run()
						w.backToCurrent(t)
						w.in.Progress = Progress{} // another controller
						w.run()
						w.backToCurrent(t)
						w.roll("b1")
						w.run()
						w.atRest()
					})
				}
			}
		}
	}
}

// TestY4TakenBackInPlace: pods that were changed in place are changed back in place.
func TestY4TakenBackInPlace(t *testing.T) {
	spec := slice(3, "").Spec
	spec.OnFailure, spec.Deadline, spec.Policy = api.Rollback, 5*time.Minute, api.InPlaceOnly
	w := newWorld(t, spec)
	w.run()
	made := w.made
	w.in.Revisions.Update, w.broken = "a2", true
	for range 5 {
		w.run()
		w.in.Now = w.in.Now.Add(10 * time.Minute)
	}
	w.broken = false
	w.run()
	in := w.observe()
	for i := range in.Pods {
		if pod := &in.Pods[i]; pod.Revision != "a1" || !serves(in, pod) {
			t.Errorf("%+v", pod)
		}
	}
	if w.rolledBack != 1 || w.made != made {
		t.Errorf("taken back %d times, and %d pods were made", w.rolledBack, w.made-made)
	}
}

// TestY4World: after any events, a set whose roll-out has failed has all pods at its current revision, and keeps them there
// until the template changes.
func TestY4World(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		spec := worldSpec(t)
		spec.OnFailure, spec.Deadline, spec.Paused, spec.Migrating, spec.Share, spec.Partition = api.Rollback, 70*time.Second, false, false, nil, 0
		if spec.Strategy == api.OnDelete {
			spec.Strategy = api.RollingUpdate
		}
		w := newWorld(t, spec)
		w.run()
		w.in.Spec.Replicas = rapid.Int32Range(1, 5).Draw(t, "replicas")
		w.run()
		w.in.Revisions.Update = "x1"
		t.Repeat(map[string]func(*rapid.T){
			"reconcile": func(*rapid.T) { w.reconcile(1000) },
			"crash":     func(t *rapid.T) { w.reconcile(rapid.IntRange(0, 3).Draw(t, "actions")) },
			"pods":      func(t *rapid.T) { w.random(t) },
			"time":      func(t *rapid.T) { w.in.Now = w.in.Now.Add(5 * anyTime(t, "on")) },
			"restart":   func(*rapid.T) { w.in.Progress.Message, w.in.Refused, w.in.Failures = "", nil, nil },
			"scale":     func(t *rapid.T) { w.in.Spec.Replicas = rapid.Int32Range(1, 6).Draw(t, "replicas") },
			"start":     func(t *rapid.T) { w.in.Spec.Start = rapid.Int32Range(0, 4).Draw(t, "start") },
			"pause":     func(*rapid.T) { w.in.Spec.Paused = !w.in.Spec.Paused },
			"quota":     func(t *rapid.T) { w.quota = rapid.IntRange(0, 8).Draw(t, "quota") },
		})
		w.in.Spec.Paused, w.quota = false, 0
		for range 5 {
			for _, pod := range w.pods {
				pod.HeldForDelete, pod.HeldForUpdate = false, false
			}
			w.run()
			w.in.Now = w.in.Now.Add(10 * time.Minute)
		}
		if meaning(w.in.Revisions.Current) == "x1" {
			return // no pod of the former revision was left, and none had to be Ready
		}
		w.backToCurrent(t)
		w.in.Spec.OnFailure = api.Halt
		w.roll("b1")
		w.run()
		w.atRest()
	})
}

// TestY4SaysWhy: the message of a failed roll-out names the late pod and what happens to the others. It stays.
func TestY4SaysWhy(t *testing.T) {
	in := slice(3, "a a b-", since(time.Hour, Progress{Updated: 1, Late: true}))
	first := Decide(in)
	for _, part := range []string{"revision b", "since 2026-01-01T11:00:00Z", "the pod of ordinal 2 is not Ready", "pods keep revision a until spec.template changes"} {
		if !strings.Contains(first.Progress.Message, part) {
			t.Errorf("%q is not in %q", part, first.Progress.Message)
		}
	}
	if got := heldAs(first, 0); got != HeldRollback || short(first) != "" {
		t.Errorf("held for %s: %s", got, short(first))
	}
	in.Revisions.Failed, in.Progress = true, first.Progress
	in.Pods[2].Change = Change{Blocker: "spec"}
	for i := range 2 {
		in.Pods[i].Change = Change{Same: true}
	}
	next := Decide(in)
	if next.Progress != first.Progress || short(next) != "Delete 2" {
		t.Errorf("%+v, then %+v; %s", first.Progress, next.Progress, short(next))
	}
	for what, message := range map[string]string{
		"the pod of ordinal 2 cannot be created: exceeded quota": Decide(slice(3, "a a .", since(time.Hour, Progress{Late: true}), func(in *Input) {
			in.Refused = []Refusal{{Verb: Create, Ordinal: 2, Message: "exceeded quota"}}
		})).Progress.Message,
		"the pod of ordinal 2 does not exist":   Decide(slice(3, "a a .", since(time.Hour, Progress{Late: true}))).Progress.Message,
		"the pod of ordinal 2 has ended":        Decide(slice(3, "a a b!", since(time.Hour, Progress{Late: true, Updated: 1}))).Progress.Message,
		"the pod of ordinal 2 is not available": Decide(slice(3, "a a b3", minReady(60), since(time.Hour, Progress{Late: true, Updated: 1, Ready: 1}))).Progress.Message,
	} {
		if !strings.Contains(message, what) {
			t.Errorf("%q is not in %q", what, message)
		}
	}
}

// failedBefore is the input of a set whose revision has failed before.
func failedBefore(in *Input) { in.Revisions.Failed, in.Spec.OnFailure = true, api.Rollback }

// TestY4FailedWithoutProgress: a controller that knows only that a revision has failed reports it, since it knows that.
func TestY4FailedWithoutProgress(t *testing.T) {
	const message = "the roll-out of revision b has failed; pods keep revision a until spec.template changes"
	for name, tc := range map[string]struct{ before, want Progress }{
		"nothing is known":     {Progress{}, Progress{Revision: "b", Since: noon, Late: true, Failed: true, Message: message}},
		"of another revision":  {Progress{Revision: "x", Since: noon.Add(-time.Hour), Updated: 2, Message: "x"}, Progress{Revision: "b", Since: noon, Late: true, Failed: true, Message: message}},
		"since when":           {Progress{Revision: "b", Since: noon.Add(-time.Hour), Updated: 2}, Progress{Revision: "b", Since: noon.Add(-time.Hour), Updated: 2, Late: true, Failed: true, Message: message}},
		"since when, and why":  {Progress{Revision: "b", Since: noon.Add(-time.Hour), Message: "why"}, Progress{Revision: "b", Since: noon.Add(-time.Hour), Late: true, Failed: true, Message: "why"}},
		"it was complete once": {Progress{Revision: "b", Since: noon, Complete: true, Message: "why"}, Progress{Revision: "b", Since: noon, Late: true, Failed: true, Message: "why"}},
	} {
		in := slice(2, "a a", failedBefore)
		in.Progress = tc.before
		if got := Decide(in).Progress; got != tc.want {
			t.Errorf("%s: %+v, want %+v", name, got, tc.want)
		}
	}
}
