package decide

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	api "github.com/sliceshift/sliceshift/api/apps/v1alpha1"
)

// since returns a roll-out with a pod of its revision that last made progress some time ago.
func since(ago time.Duration, progress Progress) func(*Input) {
	return func(in *Input) {
		in.Spec.Deadline, in.Spec.OnFailure = 10*time.Minute, api.Rollback
		progress.Revision, progress.Since = "b", noon.Add(-ago)
		in.Progress = progress
	}
}

// TestDeadline: a roll-out fails when its own pods do not become Ready or available, but not while it waits for something
// that its template did not cause.
func TestDeadline(t *testing.T) {
	hour, begun := since(time.Hour, Progress{Late: true}), since(time.Hour, Progress{Updated: 1, Ready: 1, Late: true})
	inPlace := func(in *Input) { in.Spec.Policy, in.Spec.InPlaceGrace = api.InPlaceIfPossible, time.Hour }
	grace := func(in *Input) { in.Spec.TerminationGrace = time.Hour }
	leaving := func(left time.Duration) func(*Pod) {
		return func(p *Pod) { p.Terminating, p.GoneBy = true, noon.Add(left) }
	}
	told := func(ago time.Duration) func(*Pod) {
		return func(p *Pod) { p.Reason, p.ReasonSince = api.TerminationUpdate, noon.Add(-ago) }
	}
	preDelete := func(p *Pod) {
		told(30 * time.Minute)(p)
		p.HeldForDelete = true
	}
	hooked := func(p *Pod) {
		possible(p)
		p.HeldForUpdate = true
	}
	patchedIn := func(ago time.Duration) func(*Pod) {
		return func(p *Pod) {
			possible(p)
			p.Ready, p.InPlace = false, &InPlace{Revision: "b", Since: noon.Add(-ago)}
		}
	}
	growing := func(p *Pod) { p.Growth.State = Growing }
	toGrow := func(p *Pod) { p.Growth.State = ToGrow }
	refuse := func(verb Verb) func(*Input) {
		return func(in *Input) { in.Refused = []Refusal{{Verb: verb, Ordinal: 1, Message: "no"}} }
	}
	readyFor := func(d time.Duration) func(*Pod) {
		return func(p *Pod) { p.ReadySince = noon.Add(-d) }
	}
	quarter := minReady(900)
	for _, c := range []struct {
		name   string
		in     Input
		failed bool
	}{
		{"X-06 Ready, and minReadySeconds are not over", slice(2, "a b", since(12*time.Minute, Progress{Updated: 1, Ready: 1, Late: true}), quarter).with(1, readyFor(12*time.Minute)), false},
		{"X-06 it gets available", slice(2, "a b", since(15*time.Minute, Progress{Updated: 1, Ready: 1, Late: true}), quarter).with(1, readyFor(15*time.Minute)), false},
		{"X-06 minReadySeconds do not count twice", slice(2, "a b", since(25*time.Minute, Progress{Updated: 1, Ready: 1, Late: true}), quarter).with(1, readyFor(time.Minute)), true},
		{"X-06 one that crashes meanwhile is late", slice(2, "a b-", since(12*time.Minute, Progress{Updated: 1, Ready: 1, Late: true}), quarter), true},
		{"X-06 old pods get available again", slice(2, "a a", since(12*time.Minute, Progress{}), quarter).with(0, readyFor(12*time.Minute)).with(1, readyFor(12*time.Minute)), false},
		{"X-06 a long termination", slice(2, "a a", hour).with(1, leaving(time.Minute)), false},
		{"X-06 one that should be over by now", slice(2, "a a", hour).with(1, leaving(-9*time.Minute)), false},
		{"X-06 Y3 one that never ends", slice(2, "a a", hour).with(1, leaving(-10*time.Minute)), false},
		{"X-06 a long termination beside a pod that does not get Ready", slice(3, "a a b-", begun, unavailable(2)).with(1, leaving(time.Minute)), true},
		{"X-06 a pod waits for it in order", slice(3, "a a .", begun, unavailable(2)).with(1, leaving(time.Minute)), false},
		{"X-06 a pod that does not wait for it is refused", slice(3, "a a .", begun, unavailable(2), parallel).with(1, leaving(time.Minute)), true},
		{"X-06 nor with scaleStrategy", slice(3, "a . a", begun, unavailable(2), parallel, func(in *Input) { in.Spec.ScaleMaxUnavailable = 1 }).with(2, leaving(time.Minute)), false},
		{"X-06 Recreate waits for the last one", slice(3, ". a .", hour, by(api.Recreate), parallel).with(1, leaving(time.Minute)), false},
		{"X-06 a scale-down comes first", slice(2, "a a a", hour).with(2, leaving(time.Minute)), false},
		{"X-06 lifecycle.preDelete holds a pod", slice(2, "a a", hour).with(1, preDelete), false},
		{"Y3 a hook that would hold a pod", slice(2, "a a", hour).with(1, func(p *Pod) { p.HeldForDelete = true }), false},
		{"X-06 lifecycle.inPlaceUpdate holds a pod", slice(2, "a a", hour, inPlace).with(1, hooked), false},
		{"X-06 a hook beside a pod that does not get Ready", slice(3, "a a b-", begun, inPlace, unavailable(2)).with(1, hooked), true},
		{"X-06 the grace of a termination reason", slice(2, "a a", hour, grace).with(1, told(30*time.Minute)), false},
		{"X-06 the grace before a pod is patched", slice(2, "a a", hour, inPlace).with(1, patchedIn(30*time.Minute)), false},
		{"X-06 claims grow", slice(2, "a a", hour).with(1, growing), false},
		{"U-08 images are pulled", slice(2, "a a", hour, prePull).with(1, pulls(4*time.Minute)), false},
		{"U-08 Y3 images that were to be there by now", slice(2, "a a", hour, prePull).with(1, pulls(20*time.Minute)), false},
		{"X-06 Y3 claims that did not begin to grow", slice(2, "a a", hour).with(1, toGrow), false},
		{"X-06 claims may not grow", slice(2, "a a", hour, refuse(GrowClaims)).with(1, toGrow), true},
		{"X-01 a change in place is refused", slice(2, "a a", hour, inPlace, refuse(PatchInPlace)).with(1, patchedIn(30*time.Minute)), true},
		{"Y3 the change of a pod that leaves is refused", slice(2, "a a", hour, inPlace, refuse(PatchInPlace)).with(1, patchedIn(30*time.Minute)).with(1, leaving(time.Minute)), false},
		{"Y3 a deletion is refused", slice(2, "a a", hour, refuse(Delete)), false},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := Decide(c.in)
			if d.Progress.Failed != c.failed || (d.FailedRevision != "") != c.failed {
				t.Errorf("failed %t, %q is rolled back, since %s; held %v", d.Progress.Failed, d.FailedRevision, noon.Sub(d.Progress.Since), d.Held)
			}
			if d.Progress.Late && !c.failed && d.Wait <= 0 {
				t.Error("nobody will look when the deadline passes")
			}
		})
	}
}

// TestHealthyRolloutDoesNotFail: if each pod becomes Ready in time, no roll-out fails, however long minReadySeconds,
// terminations and hooks take.
func TestHealthyRolloutDoesNotFail(t *testing.T) {
	t.Run("X-06 whatever it waits for", func(t *testing.T) {
		rapid.Check(t, func(t *rapid.T) {
			w := newWorld(t, worldSpec(t))
			w.in.Spec.Deadline, w.in.Spec.Paused, w.in.Spec.Migrating, w.in.Spec.Tell = 70*time.Second, false, false, api.AnnounceAlways
			w.in.Spec.MinReady = rapid.SampledFrom([]time.Duration{0, 10 * time.Second, 100 * time.Second}).Draw(t, "minReady")
			w.run()
			w.lingers = rapid.SampledFrom([]time.Duration{0, 10 * time.Second, 100 * time.Second}).Draw(t, "lingers")
			for _, ordinal := range w.ordinals() {
				pod := w.pods[ordinal]
				pod.HeldForDelete, pod.HeldForUpdate = rapid.Bool().Draw(t, "preDelete"), rapid.Bool().Draw(t, "inPlaceUpdate")
			}
			w.in.Revisions.Update = rapid.SampledFrom([]string{"a2", "b1", "b3"}).Draw(t, "template")
			for range rapid.IntRange(1, 60).Draw(t, "steps") {
				w.in.Now = w.in.Now.Add(anyTime(t, "on"))
				if d := w.reconcile(1000); d.Progress.Failed {
					t.Fatalf("it fails: %+v, %s, %+v; %v; %+v", d.Progress, short(d), d.Held, w.observeSorted(), w.observe())
				}
				for range 2 {
					for _, ordinal := range w.ordinals() {
						w.on(w.pods[ordinal])
					}
				}
				for _, ordinal := range w.ordinals() {
					pod := w.pods[ordinal]
					pod.HeldForDelete, pod.HeldForUpdate = pod.HeldForDelete && often(t, "preDelete"), pod.HeldForUpdate && often(t, "inPlaceUpdate")
				}
			}
		})
	})
}

// TestCompleteIsOfItsScope: a complete roll-out continues when pods of an old revision come into scope. A roll-out without
// pods is not complete.
func TestCompleteIsOfItsScope(t *testing.T) {
	was := since(time.Hour, Progress{Updated: 1, Ready: 1, Available: 1, Complete: true})
	anew, goesOn := Progress{Revision: "b", Since: noon, Late: true}, Progress{Revision: "b", Since: noon, Updated: 1, Ready: 1, Available: 1}
	crashed := since(time.Hour, Progress{Updated: 1, Ready: 1, Complete: true})
	for _, c := range []struct {
		name string
		in   Input
		want Progress
	}{
		{"X-07 a canary whose partition is lowered", slice(3, "a a b", was, partition(1)), goesOn},
		{"X-07 a canary as it was", slice(3, "a a b", was, partition(2)), Progress{Revision: "b", Since: noon.Add(-time.Hour), Updated: 1, Ready: 1, Available: 1, Complete: true}},
		{"X-07 a canary that crashes long after it", slice(3, "a a b-", crashed, partition(2)), Progress{Revision: "b", Since: noon.Add(-time.Hour), Updated: 1, Ready: 1, Complete: true}},
		{"X-07 a pod that comes back from elsewhere with an old revision", slice(2, "a b", was), goesOn},
		{"X-07 one that is on its way out is made again", slice(2, "at b", was), Progress{Revision: "b", Since: noon.Add(-time.Hour), Updated: 1, Ready: 1, Available: 1, Complete: true}},
		{"X-07 no replicas", slice(0, "", since(time.Hour, Progress{})), Progress{}},
		{"X-07 no replicas any more", slice(0, "", was), Progress{}},
		{"X-07 none above the partition", slice(2, "a a", since(time.Hour, Progress{}), partition(2)), Progress{}},
		{"X-07 the first replica of a slice that had none", slice(1, "", since(0, Progress{}), func(in *Input) { in.Progress = Progress{} }), anew},
	} {
		t.Run(c.name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, Decide(c.in).Progress); diff != "" {
				t.Errorf("progress (-want +got):\n%s", diff)
			}
		})
	}
}

// TestFailsAfterAll: a roll-out that had no pods fails when its first pods do not become Ready, and not before.
func TestFailsAfterAll(t *testing.T) {
	for name, none := range map[string]func(*Spec){
		"X-07 all were below the partition": func(s *Spec) { s.Partition = 9 },
		"X-07 there were no replicas":       func(s *Spec) { s.Replicas = 0 },
	} {
		t.Run(name, func(t *testing.T) {
			spec := slice(3, "").Spec
			spec.Deadline = 5 * time.Minute
			w := newWorld(t, spec)
			w.run()
			none(&w.in.Spec)
			w.in.Revisions.Update = "x1"
			for _, last := range []bool{false, true} {
				w.run()
				w.in.Now = w.in.Now.Add(time.Hour)
				if d := w.reconcile(1000); d.Progress.Failed != last {
					t.Errorf("failed %t: %+v; %v", d.Progress.Failed, d.Progress, w.observeSorted())
				}
				w.in.Spec = spec
			}
		})
	}
}

// TestLastPodsFail: a roll-out whose last pods do not become Ready fails, whatever progress it had before the partition and
// the replicas changed.
func TestLastPodsFail(t *testing.T) {
	t.Run("X-07 whatever it was complete for", func(t *testing.T) {
		rapid.Check(t, func(t *rapid.T) {
			spec := worldSpec(t)
			spec.Deadline, spec.Strategy, spec.Paused, spec.Migrating, spec.Share = 15*time.Second, api.RollingUpdate, false, false, nil
			w := newWorld(t, spec)
			w.run()
			w.in.Revisions.Update = "b1"
			for range rapid.IntRange(0, 3).Draw(t, "phases") {
				w.in.Spec.Partition = rapid.Int32Range(1, 9).Draw(t, "partition")
				w.in.Spec.Replicas = rapid.Int32Range(0, 6).Draw(t, "replicas")
				w.run()
			}
			w.broken, w.in.Spec.Partition = true, 0
			if d := newDecider(w.observe()); !slices.ContainsFunc(d.pods, d.toUpdate) {
				return
			}
			w.run()
			w.in.Now = w.in.Now.Add(time.Hour)
			if d := w.reconcile(1000); !d.Progress.Failed && w.rolledBack == 0 {
				t.Fatalf("it does not fail: %+v, %s, %+v; %v", d.Progress, short(d), d.Held, w.observeSorted())
			}
		})
	})
}

// TestCompleteMeansAll: when a set becomes complete, all of its pods exist, and each pod in scope serves.
func TestCompleteMeansAll(t *testing.T) {
	t.Run("X-15 whatever was seen", func(t *testing.T) {
		property(t, func(t *rapid.T, in Input, _ Decision) {
			in.Progress.Complete = false
			d := Decide(in)
			if !d.Complete {
				return
			}
			for _, ordinal := range in.Spec.Ordinals() {
				pod := podAt(in, ordinal)
				driven := !in.Spec.Deleting && !in.Spec.Paused && in.Spec.Strategy != api.OnDelete && (in.Spec.Strategy == api.Recreate || ordinal >= in.Spec.Partition)
				if pod == nil || pod.Terminating || pod.Revision != "b" || driven && !serves(in, pod) {
					t.Fatalf("complete, though ordinal %d is %+v", ordinal, pod)
				}
			}
		})
	})
}

// TestProgressCounts: pods that are about to be removed are not counted, so that the next updated pod is progress.
func TestProgressCounts(t *testing.T) {
	for _, c := range []struct {
		name string
		in   Input
		want [3]int32
	}{
		{"X-06 one that stands in counts", slice(2, "a b b", surge(1)), [3]int32{2, 2, 2}},
		{"X-06 not when it goes", slice(2, "b . b", unavailable(2), surge(1)), [3]int32{1, 1, 1}},
		{"X-06 nor does one that is scaled away", slice(2, "a b b b"), [3]int32{1, 1, 1}},
		{"X-06 nor one below the partition", slice(2, "b b-", partition(1)), [3]int32{1, 0, 0}},
		{"X-06 Ready, and not available", slice(2, "b5 b", minReady(60)), [3]int32{2, 2, 1}},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := Decide(c.in).Progress
			if got := [3]int32{p.Updated, p.Ready, p.Available}; got != c.want {
				t.Errorf("updated, Ready, available: %v, want %v", got, c.want)
			}
		})
	}
}
