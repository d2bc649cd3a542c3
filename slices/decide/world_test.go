package decide

import (
	"fmt"
	"slices"
	"strconv"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	api "github.com/sliceshift/sliceshift/api/apps/v1alpha1"
)

type failer interface {
	Helper()
	Fatalf(format string, args ...any)
}

// world is a simulated cluster with one slice, in which only Decide acts. A revision is a letter and a number. A pod can be
// updated in place between revisions with the same letter. Pods of a revision "x" never become Ready, those of "f" end, and
// those of "u" are never scheduled. No node resizes a pod to number 9. Each + after a revision means larger claims.
type world struct {
	t    failer
	in   Input
	pods map[int32]*Pod
	// claims remain when their pods are deleted. driver is the way in which they grow.
	claims map[int32]*worldClaim
	driver string
	made   int
	// lingers is the time for which a pod is Terminating.
	lingers time.Duration
	// broken is true when no pod becomes Ready any more.
	broken bool
	// pulled maps pods to the revisions whose images are pulled on their nodes. A pull of a revision "b3" never ends.
	pulled map[types.UID]string
	// failed is the revision that the status records as failed. rolledBack counts roll-outs that were rolled back.
	failed     string
	rolledBack int
	// quota is the maximum number of pods that the API server accepts. 0 means no maximum.
	quota int
	// going maps ordinals that an update takes down, with a pod that was available at the current revision, until a pod is
	// available there again.
	going map[int32]bool
	// within is the PodDisruptionBudget of the pods, or nil.
	within *sharedBudget
	// zones maps ordinals to the zones of their pods. nil means that there are no zones.
	zones map[int32]string
	// failing holds the ordinals whose writes failed in the present pass.
	failing map[int32]bool
}

func newWorld(t failer, spec Spec) *world {
	return &world{
		t: t, in: Input{Now: noon, Spec: spec, Revisions: Revisions{Current: "a1", Update: "a1"}},
		pods: map[int32]*Pod{}, claims: map[int32]*worldClaim{}, pulled: map[types.UID]string{}, going: map[int32]bool{},
	}
}

func (w *world) observe() Input {
	in := w.in
	in.Revisions.SameTemplate = meaning(in.Revisions.Current) == meaning(in.Revisions.Update)
	in.Revisions.Failed = w.failed == in.Revisions.Update && in.Revisions.Current != in.Revisions.Update && in.Spec.OnFailure == api.Rollback
	target := in.Revisions.Target()
	for _, pod := range w.pods {
		seen := *pod
		seen.Change = Change{Same: meaning(pod.Revision) == meaning(target), InPlace: pod.Revision[0] == target[0], Blocker: "spec"}
		if !in.Revisions.Failed {
			seen.Growth = w.growth(pod.Ordinal)
		}
		if seen.NewImages = !seen.Change.Same; w.pulled[pod.UID] != target {
			seen.Pull = nil // the pull pod is of another revision, and has another name
		}
		if pod.InPlace != nil {
			inPlace := *pod.InPlace
			seen.InPlace = &inPlace
		}
		w.viewZone(&seen)
		w.within.view(w, &seen)
		in.Pods = append(in.Pods, seen)
	}
	w.within.viewAll(w, &in)
	return in
}

// reconcile decides, and executes the first actions: all of them, unless it crashes.
func (w *world) reconcile(most int) Decision {
	w.t.Helper()
	before := w.observe()
	d := Decide(before)
	w.in.Refused, w.failing = d.Refused, map[int32]bool{}
	for _, action := range d.Actions[:min(most, len(d.Actions))] {
		if w.failing[action.Ordinal] {
			continue
		}
		if action.Verb == Create && w.quota > 0 && len(w.pods) >= w.quota {
			w.in.Refused = append(w.in.Refused, Refusal{Verb: Create, Ordinal: action.Ordinal, Message: "exceeded quota"})
			continue
		}
		w.do(action)
	}
	w.verify(before, d)
	checkReady(w.t, before, d)
	w.in.Progress, w.in.Failures, w.in.Topology.Current = d.Progress, d.Failures, d.Domain
	for _, pod := range w.pods {
		pod.NeverAvailable = pod.NeverAvailable && !d.Served[pod.UID]
	}
	w.in.Revisions.Current = d.Status.CurrentRevision
	if most >= len(d.Actions) {
		w.rolledBack += int(one(d.FailedRevision != "" && !before.Revisions.Failed))
		w.failed = d.FailedRevision
	}
	return d
}

func (w *world) do(a Action) {
	w.t.Helper()
	pod := w.pods[a.Ordinal]
	if a.Verb == Create {
		w.create(a)
		return
	}
	if pod == nil || pod.UID != a.UID || pod.Terminating && a.Verb != OwnClaims {
		w.t.Fatalf("%+v on %+v", a, pod)
	}
	switch a.Verb {
	case Delete:
		pod.Terminating, pod.GoneBy = true, w.in.Now.Add(w.lingers)
	case Evict:
		w.evict(a, pod)
	case ChargeBudget, ReleaseBudget:
		w.failing[a.Ordinal] = !w.within.write(w, a, pod)
	case Announce:
		pod.Reason, pod.ReasonSince = a.Reason, w.in.Now
	case CreateClaims:
		pod.ClaimsMissing = false
	case Repair:
		pod.IdentityOK = true
	case OwnClaims:
		pod.ClaimsOK = true
	case Relabel:
		pod.Revision = a.Revision
	case BeginInPlace, PatchInPlace, FinishInPlace:
		w.doInPlace(a, pod)
	case GrowClaims:
		w.ask(a.Ordinal)
	case PrePull:
		pod.Pull, w.pulled[pod.UID] = &Pull{Since: w.in.Now}, a.Revision
	case Create:
	}
}

func (w *world) create(a Action) {
	w.t.Helper()
	if w.pods[a.Ordinal] != nil {
		w.t.Fatalf("ordinal %d would run twice", a.Ordinal)
	}
	w.made++
	w.pods[a.Ordinal] = &Pod{
		Ordinal: a.Ordinal, UID: types.UID(strconv.Itoa(w.made)), Revision: a.Revision, Phase: Pending,
		IdentityOK: true, ClaimsOK: true, NeverAvailable: true,
	}
	if w.claims[a.Ordinal] == nil {
		w.claims[a.Ordinal] = &worldClaim{asks: sizeOf(w.in.Revisions.Update)}
	}
	w.claims[a.Ordinal].anew = true
}

func (w *world) doInPlace(a Action, pod *Pod) {
	w.t.Helper()
	former := pod.InPlace
	switch {
	case a.Verb == PatchInPlace:
		pod.Revision, former.Patched, former.Done, former.Unseen = a.Revision, true, false, true
	case a.Verb == BeginInPlace && former != nil && former.Unseen:
		w.t.Fatalf("nobody can tell what ordinal %d runs", a.Ordinal)
	case a.Verb == BeginInPlace:
		pod.Ready, pod.InPlace = false, &InPlace{Revision: a.Revision, Since: w.in.Now, Done: former == nil || former.Done}
	case !former.Done:
		w.t.Fatalf("what ordinal %d was changed to does not run yet", a.Ordinal)
	default:
		pod.InPlace = nil
	}
}

// verify checks the invariants of every state.
func (w *world) verify(before Input, d Decision) {
	w.t.Helper()
	after := w.observe()
	w.checkAll(before, d)
	recreate := w.in.Spec.Strategy == api.Recreate
	floor := len(after.Spec.Ordinals()) - int(after.Spec.MaxUnavailable)
	for what, is := range map[string]func(Input, *Pod) bool{"available": serves, "Ready": isReady} {
		if was, left := countOf(before, is), countOf(after, is); !recreate && left < min(floor, was) {
			w.t.Fatalf("D1: %d were %s and %d are, of at least %d: %s", was, what, left, floor, short(d))
		}
	}
	if at := slices.IndexFunc(d.Actions, func(a Action) bool {
		return a.Verb == Delete && a.Reason == api.TerminationUpdate && lacksImages(before, podAt(before, a.Ordinal))
	}); at >= 0 {
		w.t.Fatalf("deleted before its images are there: %+v", d.Actions[at])
	}
	running, revisions := 0, map[string]bool{}
	for _, pod := range after.Pods {
		revisions[meaning(pod.Revision)] = true
		if !pod.Terminating {
			running++
		}
	}
	created := slices.ContainsFunc(d.Actions, func(a Action) bool { return a.Verb == Create })
	if recreate && created && !w.in.Spec.Paused && before.Revisions.Blocked == "" && len(revisions) > 1 {
		w.t.Fatalf("revisions %v run together", revisions)
	}
	if !recreate && len(before.Refused) == 0 {
		w.keepsAsMany(before, d, running)
	}
}

// keepsAsMany checks that a scale-down does not leave fewer pods than replicas, of which some are running.
func (w *world) keepsAsMany(before Input, d Decision, running int) {
	w.t.Helper()
	condemned := slices.ContainsFunc(d.Actions, func(a Action) bool {
		return a.Verb == Delete && a.Reason == api.TerminationScaleDown && !slices.Contains(counted(before), a.Ordinal)
	})
	kept, owned := 0, before.Spec.Ordinals()
	for _, ordinal := range owned {
		kept += int(one(w.pods[ordinal] != nil))
	}
	if condemned && kept+running < len(owned) {
		w.t.Fatalf("fewer pods than replicas: %s", short(d))
	}
}

// checkAll checks the invariants of a decision.
func (w *world) checkAll(before Input, d Decision) {
	w.t.Helper()
	checkUnhealthy(w.t, before, d)
	checkRoom(w.t, before, d)
	checkLate(w.t, before, d)
	checkFailed(w.t, before, d)
	w.checkGoing(before, d)
}

// random simulates random events, one step for one pod.
func (w *world) random(t *rapid.T) {
	var ordinals []int32
	for ordinal := range w.pods {
		ordinals = append(ordinals, ordinal)
	}
	if len(ordinals) == 0 {
		return
	}
	slices.Sort(ordinals)
	pod := w.pods[rapid.SampledFrom(ordinals).Draw(t, "ordinal")]
	switch rapid.SampledFrom([]string{"on", "on", "on", "on", "crash", "fail", "delete", "claim", "ask", "hook"}).Draw(t, "happens") {
	case "on":
		w.on(pod)
	case "crash":
		pod.Ready = false
	case "fail":
		pod.Phase, pod.Ready = Failed, false
	case "delete":
		pod.Terminating = true
	case "claim":
		pod.ClaimsOK, pod.ClaimsMissing = false, pod.Phase == Pending
	case "ask":
		pod.AskedToGo = true
	case "hook":
		pod.HeldForDelete, pod.HeldForUpdate = !pod.HeldForDelete, rapid.Bool().Draw(t, "update")
	}
}

// on simulates one step of a pod's kubelet.
func (w *world) on(pod *Pod) {
	switch {
	case pod.Terminating && w.in.Now.Before(pod.GoneBy):
	case pod.Terminating:
		delete(w.pods, pod.Ordinal)
	case pod.Phase == Pending && pod.Revision[0] == 'u':
	case pod.Phase == Pending:
		pod.Phase = Running
		w.claims[pod.Ordinal].mount(w.driver)
	case pod.Phase != Running:
	case pod.Revision[0] == 'f':
		pod.Phase = Failed
	case pod.InPlace != nil && !pod.InPlace.Serves:
		onInPlace(pod)
	case !pod.Ready && pod.Revision[0] != 'x' && !w.broken:
		pod.Ready, pod.ReadySince = true, w.in.Now
	}
	w.claims[pod.Ordinal].grow(w.driver, w.in.Now)
	if pod.Pull != nil && meaning(w.pulled[pod.UID]) != "b3" {
		pod.Pull = &Pull{Since: pod.Pull.Since, Ended: true}
	}
}

// onInPlace simulates one step of an in-place update. First the kubelet observes the change.
func onInPlace(pod *Pod) {
	switch in := pod.InPlace; {
	case in.Unseen:
		in.Unseen = false
	case in.Patched && pod.Revision[1] == '9':
		in.Waits, in.Infeasible, in.Serves = "no room", true, true
	case pod.Revision[0] != 'x':
		in.Done = true
	}
}

// run executes all participants, fairly, until nothing changes any more.
func (w *world) run() {
	w.t.Helper()
	for range 400 {
		w.in.Now = w.in.Now.Add(time.Minute)
		d := w.reconcile(len(w.pods)*8 + 1000)
		before := fmt.Sprint(w.observeSorted())
		for _, ordinal := range w.ordinals() {
			w.on(w.pods[ordinal])
		}
		waits := slices.ContainsFunc(d.Held, func(h Hold) bool { return h.Reason == HeldBackoff || h.Reason == HeldPrePull })
		if len(d.Actions) == 0 && !waits && fmt.Sprint(w.observeSorted()) == before {
			return
		}
	}
	w.t.Fatalf("it does not come to rest: %s, %+v", short(Decide(w.observe())), w.observeSorted())
}

func (w *world) ordinals() []int32 {
	var out []int32
	for ordinal := range w.pods {
		out = append(out, ordinal)
	}
	slices.Sort(out)
	return out
}

func (w *world) observeSorted() []string {
	var out []string
	for _, ordinal := range w.ordinals() {
		pod := w.pods[ordinal]
		out = append(out, fmt.Sprintf("%d%s %s ready=%v terminating=%v claims=%v %+v in place=%+v", ordinal, pod.Revision, pod.Phase, pod.Ready, pod.Terminating, pod.ClaimsOK, *w.claims[ordinal], pod.InPlace))
	}
	return out
}

// atRest checks that everything is in its desired state.
func (w *world) atRest() {
	w.t.Helper()
	in := w.observe()
	d := Decide(in)
	want := map[int32]bool{}
	for _, ordinal := range in.Spec.Ordinals() {
		want[ordinal] = true
		pod := podAt(in, ordinal)
		if !serves(in, pod) {
			w.t.Fatalf("ordinal %d does not serve: %+v; held %+v; all: %v", ordinal, pod, d.Held, w.observeSorted())
		}
		if !d.Complete && in.Spec.Partition == 0 {
			w.t.Fatalf("it is not complete: %+v", d.Progress)
		}
		if (ordinal >= in.Spec.Partition || in.Spec.Strategy != api.RollingUpdate) && pod.Revision != in.Revisions.Update && in.Spec.Strategy != api.OnDelete {
			w.t.Fatalf("ordinal %d has revision %s: %+v", ordinal, pod.Revision, d.Held)
		}
		if claim := w.claims[ordinal]; claim.has < sizeOf(in.Revisions.Update) {
			w.t.Fatalf("the claim of ordinal %d has not grown: %+v, %s; %+v", ordinal, claim, w.driver, d.Held)
		}
		if pod.AskedToGo || pod.Reason != "" {
			w.t.Fatalf("ordinal %d was to go: %+v", ordinal, pod)
		}
	}
	for ordinal := range w.pods {
		if !want[ordinal] {
			w.t.Fatalf("ordinal %d is left: %+v", ordinal, d.Held)
		}
	}
	if !d.Readiness.Ready {
		w.t.Fatalf("at rest, and not Ready: %+v", d.Readiness)
	}
	if len(d.Actions) > 0 || len(d.Held) > 0 && in.Spec.Strategy != api.OnDelete {
		w.t.Fatalf("not at rest: %s, %+v", short(d), d.Held)
	}
}

func worldSpec(t *rapid.T) Spec {
	spec := anySpec(t)
	spec.Deleting, spec.Orphaning, spec.Reserved = false, false, nil
	if spec.Policy == api.InPlaceOnly {
		spec.Policy = api.InPlaceIfPossible
	}
	return spec
}

// TestWorldConverges: after any events, a slice with a good template reaches its desired state if nothing else interferes.
func TestWorldConverges(t *testing.T) {
	t.Run("D-016, D-035, D-047, S-014: after random edits, crashes and broken pods", func(t *testing.T) {
		rapid.Check(t, func(t *rapid.T) {
			w := newWorld(t, worldSpec(t))
			t.Repeat(map[string]func(*rapid.T){
				"reconcile": func(*rapid.T) { w.reconcile(1000) },
				"crash":     func(t *rapid.T) { w.reconcile(rapid.IntRange(0, 3).Draw(t, "actions")) },
				"pods": func(t *rapid.T) {
					for range rapid.IntRange(1, 6).Draw(t, "steps") {
						w.random(t)
					}
				},
				"time": func(t *rapid.T) { w.in.Now = w.in.Now.Add(anyTime(t, "on")) },
				"template": func(t *rapid.T) {
					w.roll(rapid.SampledFrom([]string{"a1", "a2", "a9", "b1", "x1", "x2", "x9", "f1", "u1"}).Draw(t, "template"))
				},
				"size": func(*rapid.T) { w.in.Revisions.Update += "+" },
				"driver": func(t *rapid.T) {
					w.driver = rapid.SampledFrom([]string{online, offline, stuck, slow, unable}).Draw(t, "driver")
				},
				"scale":     func(t *rapid.T) { w.in.Spec.Replicas = rapid.Int32Range(0, 6).Draw(t, "replicas") },
				"start":     func(t *rapid.T) { w.in.Spec.Start = rapid.Int32Range(0, 8).Draw(t, "start") },
				"partition": func(t *rapid.T) { w.in.Spec.Partition = rapid.Int32Range(0, 8).Draw(t, "partition") },
				"pause":     func(*rapid.T) { w.in.Spec.Paused = !w.in.Spec.Paused },
				"inputs": func(t *rapid.T) {
					w.in.Revisions.Blocked = rapid.SampledFrom([]string{"", "ConfigMap web does not exist"}).Draw(t, "blocked")
				},
				"quota": func(t *rapid.T) { w.quota = rapid.IntRange(0, 8).Draw(t, "quota") },
				"reserve": func(t *rapid.T) {
					w.in.Spec.Reserved = []Range{{1, rapid.Int32Range(1, 3).Draw(t, "reserved")}}
				},
			})
			w.roll(rapid.SampledFrom([]string{"a1", "a2", "a9", "b1", "b3"}).Draw(t, "template"))
			if w.driver != offline || w.in.Spec.Strategy == api.OnDelete {
				w.driver = slow
			}
			w.in.Spec.Paused, w.in.Spec.Partition, w.in.Spec.Migrating, w.in.Spec.Share = false, 0, false, nil
			w.in.Revisions.Blocked = ""
			w.quota, w.in.Spec.OnFailure = 0, api.Halt // it may have failed before
			for _, pod := range w.pods {
				pod.HeldForDelete, pod.HeldForUpdate = false, false
				// With OnDelete, the user deletes the pods.
				lasts := w.driver == offline && !w.claims[pod.Ordinal].pending.IsZero() && w.claims[pod.Ordinal].anew
				pod.AskedToGo = pod.AskedToGo || lasts || w.in.Spec.Strategy == api.OnDelete && pod.Revision != w.in.Revisions.Update
			}
			w.in.Spec.Deadline = 0
			w.run()
			w.atRest()
		})
	})
}

// TestWorldInPlace: with any sequence of templates and slow kubelets, no gate opens before the pod runs the new revision,
// and no change overtakes a change that no kubelet has observed.
func TestWorldInPlace(t *testing.T) {
	t.Run("X-04, X-05: images and resizes", func(t *testing.T) {
		rapid.Check(t, func(t *rapid.T) {
			spec := slice(rapid.Int32Range(1, 3).Draw(t, "replicas"), "").Spec
			spec.Parallel, spec.Policy = rapid.Bool().Draw(t, "parallel"), api.InPlaceIfPossible
			w := newWorld(t, spec)
			w.run()
			one := func() *Pod { return w.pods[rapid.SampledFrom(w.ordinals()).Draw(t, "ordinal")] }
			t.Repeat(map[string]func(*rapid.T){
				"reconcile": func(*rapid.T) { w.reconcile(1000) },
				"kubelet": func(*rapid.T) {
					if len(w.pods) > 0 {
						w.on(one())
					}
				},
				"template": func(t *rapid.T) {
					w.in.Revisions.Update = rapid.SampledFrom([]string{"a1", "a2", "a3", "a9", "x1"}).Draw(t, "template")
				},
				"pause": func(*rapid.T) { w.in.Spec.Paused = !w.in.Spec.Paused },
			})
			w.in.Revisions.Update, w.in.Spec.Paused = "a2", false
			w.run()
			w.atRest()
		})
	})
}

// TestStuckRollout: a roll-out that never becomes Ready can be rolled back or forward without manual deletions.
func TestStuckRollout(t *testing.T) {
	for _, isParallel := range []bool{false, true} {
		for _, policy := range []api.PodUpdatePolicy{api.ReCreate, api.InPlaceIfPossible} {
			for _, bounds := range [][2]int32{{1, 0}, {2, 0}, {5, 0}, {0, 1}, {1, 2}} {
				for _, next := range []string{"a1", "a2", "b1"} {
					name := fmt.Sprintf("K-070 S-006 S-007 R-122 R-124 D-002 D-021 Parallel %v %s maxUnavailable %d maxSurge %d to %s", isParallel, policy, bounds[0], bounds[1], next)
					t.Run(name, func(t *testing.T) {
						spec := slice(5, "").Spec
						spec.Parallel, spec.Policy, spec.MaxUnavailable, spec.MaxSurge = isParallel, policy, bounds[0], bounds[1]
						w := newWorld(t, spec)
						w.run()
						w.atRest()
						w.in.Revisions.Update = "x1"
						w.run()
						if got := serving(w.observe()); got < 5-int(bounds[0]) {
							t.Fatalf("%d pods serve in the middle of a broken roll-out", got)
						}
						w.in.Revisions.Update = "x2"
						w.run()
						w.in.Revisions.Update = next
						w.run()
						w.atRest()
					})
				}
			}
		}
	}
}

// TestMountsOnce: a claim that does not grow at a new mount takes its pod down only once.
func TestMountsOnce(t *testing.T) {
	t.Run("X-02 a file system that does not grow", func(t *testing.T) {
		w := newWorld(t, slice(3, "").Spec)
		w.run()
		w.driver, w.in.Revisions.Update = stuck, "a1+"
		w.run()
		if d := Decide(w.observe()); w.made != 4 || d.Complete || heldAs(d, 2) != HeldClaims {
			t.Errorf("%d pods were made, complete %t: %+v", w.made, d.Complete, d.Held)
		}
		w.driver = online
		w.run()
		w.atRest()
	})
}

// TestEndingPods: pods that end as soon as they run are recreated with a growing delay, in any ordinal. Pods of a better
// template are created at once.
func TestEndingPods(t *testing.T) {
	t.Run("X-20 an hour of pods that end", func(t *testing.T) {
		w := newWorld(t, slice(3, "", parallel).Spec)
		w.in.Revisions = Revisions{Current: "f1", Update: "f1"}
		seconds := func(n int) {
			for range n {
				w.in.Now = w.in.Now.Add(time.Second)
				w.reconcile(1000)
				for _, ordinal := range w.ordinals() {
					w.on(w.pods[ordinal])
				}
			}
		}
		seconds(3600)
		// 1 s, 2 s, 4 s and so on to 5 minutes: 9 within the first 10 minutes, then 1 in 5.
		if each := w.made / 3; each < 15 || each > 25 {
			t.Errorf("%d pods were made of each ordinal", each)
		}
		w.in.Revisions.Update = "a1"
		seconds(20)
		w.atRest()
	})
}

// checkGoing checks D6 over several passes: of the pods that were available at the current revision, an update takes at most
// maxUnavailable down until others are available in their place, and one more for each surge pod.
func (w *world) checkGoing(before Input, d Decision) {
	w.t.Helper()
	for ordinal := range w.going {
		if pod := w.pods[ordinal]; !before.Spec.Owns(ordinal) || pod != nil && serves(w.in, pod) {
			delete(w.going, ordinal)
		}
	}
	for _, a := range d.Actions {
		pod := podAt(before, a.Ordinal)
		if !isUpdate(a) || a.Verb != Delete && a.Verb != Evict && a.Verb != BeginInPlace || pod.NeverAvailable || pod.InPlace != nil || pod.Revision != before.Revisions.Current {
			continue
		}
		if now := w.pods[a.Ordinal]; now == nil || now.Terminating || now.InPlace != nil { // it was executed
			w.going[a.Ordinal] = true
		}
	}
	if most := int(before.Spec.MaxUnavailable) + int(before.Spec.MaxSurge); before.Spec.Unhealthy != api.AlwaysAllow && before.Spec.Strategy != api.Recreate && len(w.going) > most {
		w.t.Fatalf("D6: %v go at a time, of %d: %s", w.going, most, short(d))
	}
}

// TestCountOfSteps: deletions and creations of each pass, without delays.
func TestCountOfSteps(t *testing.T) {
	for name, c := range map[string]struct {
		change []func(*Input)
		want   []string
	}{
		"D-001 maxUnavailable 2": {
			[]func(*Input){parallel, unavailable(2)},
			[]string{"Delete 4, Delete 3", "Create 3a2, Create 4a2", "Delete 2, Delete 1", "Create 1a2, Create 2a2", "Delete 0", "Create 0a2", ""},
		},
		"K-050 K-062 OrderedReady": {
			[]func(*Input){},
			[]string{"Delete 4", "Create 4a2", "Delete 3", "Create 3a2", "Delete 2", "Create 2a2", "Delete 1", "Create 1a2", "Delete 0", "Create 0a2", ""},
		},
		"K-065 OrderedReady, batches of 2": {
			[]func(*Input){unavailable(2)},
			[]string{"Delete 4, Delete 3", "Create 3a2", "Create 4a2", "Delete 2, Delete 1", "Create 1a2", "Create 2a2", "Delete 0", "Create 0a2", ""},
		},
		"D-008 maxSurge 1": {
			[]func(*Input){unavailable(0), surge(1)},
			[]string{"Create 5a2", "Delete 4", "Create 4a2", "Delete 3", "Create 3a2", "Delete 2", "Create 2a2", "Delete 1", "Create 1a2", "Delete 0", "Create 0a2", "Delete 5", ""},
		},
		"D-044 Recreate": {
			[]func(*Input){by(api.Recreate), parallel},
			[]string{"Delete 4, Delete 3, Delete 2, Delete 1, Delete 0", "Create 0a2, Create 1a2, Create 2a2, Create 3a2, Create 4a2", ""},
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, slice(5, "", c.change...).Spec)
			w.run()
			w.in.Revisions.Update = "a2"
			for i, want := range c.want {
				if got := short(w.reconcile(1000)); got != want {
					t.Fatalf("step %d: %q, want %q", i+1, got, want)
				}
				for range 2 {
					for _, ordinal := range w.ordinals() {
						w.on(w.pods[ordinal])
					}
				}
			}
		})
	}
}
