package decide

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	api "github.com/sliceshift/sliceshift/api/apps/v1alpha1"
)

// anyInput draws inputs, including some that a reconciler never sees.
func anyInput(t *rapid.T) Input {
	in := Input{
		Now: noon, Spec: anySpec(t),
		Revisions: Revisions{Current: rapid.SampledFrom([]string{"a", "b"}).Draw(t, "current"), Update: "b", ReadsReason: rapid.Bool().Draw(t, "template reads")},
		Progress: Progress{
			Revision: rapid.SampledFrom([]string{"", "a", "b"}).Draw(t, "progress"), Since: noon.Add(-anyTime(t, "progress since")),
			Updated: rapid.Int32Range(0, 3).Draw(t, "updated"), Complete: rapid.Bool().Draw(t, "complete"),
		},
		Refused:     rapid.SliceOfN(rapid.Custom(anyRefusal), 0, 2).Draw(t, "refused"),
		StaleClaims: rapid.SliceOfN(rapid.Int32Range(0, 9), 0, 2).Draw(t, "stale"),
		Taken:       rapid.SliceOfNDistinct(rapid.Int32Range(3, 9), 0, 2, rapid.ID).Draw(t, "taken"),
	}
	if in.Revisions.Failed = in.Revisions.Current != "b" && in.Spec.OnFailure == api.Rollback && in.Spec.Strategy != api.OnDelete && seldom(t, "failed before"); in.Revisions.Failed {
		in.Progress = Progress{Revision: "b", Since: noon, Late: true, Failed: true, Message: "it has failed"}
	}
	if seldom(t, "blocked") {
		in.Revisions.Blocked = "ConfigMap web does not exist"
	}
	for _, ordinal := range rapid.SliceOfNDistinct(rapid.Int32Range(0, 9), 0, 9, rapid.ID).Draw(t, "ordinals") {
		pod := anyPod(t, ordinal)
		if in.Revisions.Failed {
			pod.Growth = Growth{}
			pod.Change = Change{Same: pod.Revision == "a" || pod.Revision == "d", Blocker: "spec"}
			pod.Change.InPlace = !pod.Change.Same && rapid.Bool().Draw(t, "back in place")
		}
		in.Pods = append(in.Pods, pod)
	}
	for _, ordinal := range rapid.SliceOfNDistinct(rapid.Int32Range(0, 9), 0, 9, rapid.ID).Draw(t, "failed") {
		in.Failures = append(in.Failures, Failure{
			Ordinal: ordinal, Revision: rapid.SampledFrom([]string{"a", "b"}).Draw(t, "failed revision"), UID: "former",
			At: noon.Add(-anyTime(t, "failed since")), Count: rapid.SampledFrom([]int32{1, 3, 5, math.MaxInt32}).Draw(t, "failures"),
		})
	}
	return in
}

func anyRefusal(t *rapid.T) Refusal {
	return Refusal{
		Verb:    rapid.SampledFrom([]Verb{Create, Create, Create, Delete, PatchInPlace, GrowClaims}).Draw(t, "verb"),
		Ordinal: rapid.Int32Range(0, 9).Draw(t, "ordinal"), Message: "no",
	}
}

func anyTime(t *rapid.T, name string) time.Duration {
	return time.Duration(rapid.IntRange(0, 20).Draw(t, name)) * time.Second
}

func often(t *rapid.T, name string) bool { return rapid.IntRange(0, 3).Draw(t, name) > 0 }

func seldom(t *rapid.T, name string) bool { return rapid.IntRange(0, 5).Draw(t, name) == 5 }

func anySpec(t *rapid.T) Spec {
	spec := Spec{
		Start: rapid.Int32Range(0, 3).Draw(t, "start"), Replicas: rapid.Int32Range(0, 6).Draw(t, "replicas"),
		Parallel: rapid.Bool().Draw(t, "parallel"), Strategy: api.RollingUpdate,
		MaxUnavailable: rapid.Int32Range(1, 4).Draw(t, "maxUnavailable"),
		MinReady:       rapid.SampledFrom([]time.Duration{0, 10 * time.Second}).Draw(t, "minReady"),
		Paused:         seldom(t, "paused"), Policy: api.ReCreate, OnFailure: rapid.SampledFrom([]api.OnFailure{api.Halt, api.Rollback}).Draw(t, "onFailure"),
		Deadline:         rapid.SampledFrom([]time.Duration{0, 15 * time.Second}).Draw(t, "deadline"),
		TerminationGrace: rapid.SampledFrom([]time.Duration{0, 10 * time.Second}).Draw(t, "grace"),
		Migrating:        seldom(t, "migrating"), Deleting: seldom(t, "deleting"), Orphaning: seldom(t, "orphaning"),
	}
	if spec.Deleting {
		spec.DeletingSince = noon.Add(-anyTime(t, "deleting since"))
	}
	if spec.TerminationGrace == 0 {
		spec.Tell = rapid.SampledFrom([]api.TerminationReasonPolicy{api.AnnounceIfRead, api.AnnounceIfRead, api.AnnounceAlways, api.AnnounceNever}).Draw(t, "tell")
	}
	var err error
	if spec.Reserved, err = reservedOf(nil); err != nil {
		t.Fatal(err)
	}
	if seldom(t, "reserves") {
		first := rapid.Int32Range(0, 6).Draw(t, "reserved")
		spec.Reserved = []Range{{first, first + rapid.Int32Range(0, 2).Draw(t, "more")}}
	}
	if spec.Migrating && rapid.Bool().Draw(t, "shares") {
		spec.Share = new(rapid.Int32Range(0, 3).Draw(t, "share"))
	}
	if spec.Parallel && seldom(t, "scaleStrategy") {
		spec.ScaleMaxUnavailable = rapid.Int32Range(1, 3).Draw(t, "scaleMaxUnavailable")
	}
	if !often(t, "rolling") {
		spec.Strategy = rapid.SampledFrom([]api.UpdateStrategyType{api.Recreate, api.OnDelete}).Draw(t, "strategy")
		spec.MaxUnavailable = 1
		return spec
	}
	if seldom(t, "hostile") {
		spec.MaxUnavailable = math.MaxInt32
	}
	spec.Partition = rapid.SampledFrom([]int32{0, 0, 0, 2, 4, 6, 9}).Draw(t, "partition")
	spec.MaxSurge = rapid.SampledFrom([]int32{0, 0, 1, 2}).Draw(t, "maxSurge")
	if spec.MaxSurge > 0 && rapid.Bool().Draw(t, "only surge") {
		spec.MaxUnavailable = 0
	}
	spec.Unhealthy = rapid.SampledFrom([]api.UnhealthyPodEvictionPolicy{api.IfHealthyBudget, api.IfHealthyBudget, api.AlwaysAllow}).Draw(t, "unhealthy")
	spec.PrePull = rapid.Bool().Draw(t, "prePull")
	spec.Unordered = spec.Parallel && seldom(t, "unordered")
	spec.Policy = rapid.SampledFrom([]api.PodUpdatePolicy{api.ReCreate, api.InPlaceIfPossible, api.InPlaceOnly}).Draw(t, "policy")
	spec.InPlaceGrace = rapid.SampledFrom([]time.Duration{0, 10 * time.Second}).Draw(t, "inPlaceGrace")
	return spec
}

func anyPod(t *rapid.T, ordinal int32) Pod {
	pod := Pod{
		Ordinal: ordinal, UID: types.UID([]byte{'u', byte('0' + ordinal)}),
		Revision: rapid.SampledFrom([]string{"a", "a", "b", "b", "x", "c", "d"}).Draw(t, "revision"),
		Phase:    Running, Ready: often(t, "ready"), ReadySince: noon.Add(-anyTime(t, "ready since")),
		Terminating: seldom(t, "terminating"), IdentityOK: often(t, "identity"), ClaimsOK: often(t, "claims"), ClaimsMissing: seldom(t, "claims missing"),
		StandIn: seldom(t, "stands in"), AskedToGo: seldom(t, "asked"), ReadsReason: rapid.Bool().Draw(t, "reads"),
		NeverAvailable: seldom(t, "never available"), HeldForDelete: seldom(t, "preDelete"), HeldForUpdate: seldom(t, "inPlaceUpdate"),
	}
	if !often(t, "runs") {
		pod.Phase, pod.Ready = rapid.SampledFrom([]Phase{Pending, Failed, Succeeded}).Draw(t, "phase"), false
	}
	switch pod.Revision {
	case "b", "c":
		pod.Change.Same = true
	default:
		if pod.Change.InPlace = rapid.Bool().Draw(t, "in place"); !pod.Change.InPlace {
			pod.Change.Blocker = "spec"
		}
	}
	pod.SameAs = map[string]string{"c": "b", "d": "a"}[pod.Revision]
	if seldom(t, "in place under way") {
		pod.InPlace = anyInPlace(t)
		pod.Ready = pod.Ready && pod.InPlace.Serves
	}
	if seldom(t, "told") {
		pod.Reason = rapid.SampledFrom([]api.TerminationReason{api.TerminationUpdate, api.TerminationScaleDown, api.TerminationDeletion}).Draw(t, "reason")
		pod.ReasonSince = noon.Add(-anyTime(t, "told since"))
	}
	if !pod.Ready && pod.Phase == Running && seldom(t, "lost") {
		pod.LostSince, pod.Node = noon.Add(-anyTime(t, "lost since")), "node-1"
	}
	if seldom(t, "claims grow") {
		pod.Growth = anyGrowth(t)
	}
	if pod.NewImages = rapid.Bool().Draw(t, "new images"); seldom(t, "pulls") {
		pod.Pull = &Pull{Since: noon.Add(-15 * anyTime(t, "pulls since")), Ended: rapid.Bool().Draw(t, "pulled")}
	}
	pod.Priority = []int64{rapid.Int64Range(0, 2).Draw(t, "priority")}
	return pod
}

func anyInPlace(t *rapid.T) *InPlace {
	in := &InPlace{
		Revision: rapid.SampledFrom([]string{"a", "b", "x"}).Draw(t, "to"), Since: noon.Add(-anyTime(t, "since")),
		Patched: rapid.Bool().Draw(t, "patched"), Done: rapid.Bool().Draw(t, "done"), Unseen: seldom(t, "unseen"),
	}
	if in.Patched != in.Done && rapid.Bool().Draw(t, "waits") {
		in.Waits, in.Infeasible, in.Serves = "no room", rapid.Bool().Draw(t, "infeasible"), rapid.Bool().Draw(t, "serves")
	}
	return in
}

func anyGrowth(t *rapid.T) Growth {
	state := rapid.SampledFrom([]GrowthState{ToGrow, ToGrow, Growing, Growing, Infeasible, AwaitsFileSystem, Unbound}).Draw(t, "growth")
	return Growth{
		State: state, Claim: "data", Since: noon.Add(-4 * anyTime(t, "growth since")), Anew: state == AwaitsFileSystem && rapid.Bool().Draw(t, "made anew"),
		InProgress: state == ToGrow && rapid.Bool().Draw(t, "grows already"),
	}
}

func property(t *testing.T, check func(t *rapid.T, in Input, d Decision)) {
	t.Helper()
	rapid.Check(t, func(t *rapid.T) {
		in := anyInput(t)
		check(t, in, Decide(in))
	})
}

func podAt(in Input, ordinal int32) *Pod {
	for i := range in.Pods {
		if in.Pods[i].Ordinal == ordinal {
			return &in.Pods[i]
		}
	}
	return nil
}

// serves is a second implementation of availability.
func serves(in Input, pod *Pod) bool {
	return pod != nil && pod.Phase == Running && pod.Ready && !pod.Terminating && pod.InPlace == nil &&
		!pod.ReadySince.Add(in.Spec.MinReady).After(in.Now)
}

// counted returns the ordinals whose pods count: those of the slice, and those of its surge pods.
func counted(in Input) []int32 {
	owned := in.Spec.Ordinals()
	return slices.Concat(owned, in.Surges())
}

func serving(in Input) int { return countOf(in, serves) }

// isReady reports whether a pod is Ready, for minReadySeconds or not.
func isReady(_ Input, pod *Pod) bool {
	return pod != nil && pod.Phase == Running && pod.Ready && !pod.Terminating && (pod.InPlace == nil || pod.InPlace.Serves)
}

func countOf(in Input, is func(Input, *Pod) bool) int {
	n := 0
	for _, ordinal := range counted(in) {
		if is(in, podAt(in, ordinal)) {
			n++
		}
	}
	return n
}

// isUpdate reports whether an action changes a pod for an update.
func isUpdate(a Action) bool {
	switch a.Verb {
	case Delete, Evict, Announce:
		return a.Reason == api.TerminationUpdate
	case BeginInPlace, PatchInPlace, GrowClaims, PrePull:
		return true
	default:
		return false
	}
}

func TestSameInputSameDecision(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := anyInput(t)
		d := Decide(in)
		if diff := cmp.Diff(d, Decide(in)); diff != "" {
			t.Fatalf("decided twice:\n%s", diff)
		}
		in.Pods = rapid.Permutation(in.Pods).Draw(t, "pods")
		if diff := cmp.Diff(d, Decide(in), cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("the order of the pods matters:\n%s", diff)
		}
	})
}

// TestBudgetHolds is D1.
func TestBudgetHolds(t *testing.T) {
	property(t, func(t *rapid.T, in Input, d Decision) {
		if in.Spec.Strategy == api.Recreate {
			return
		}
		floor := len(in.Spec.Ordinals()) - int(in.Spec.MostUnavailable())
		for what, is := range map[string]func(Input, *Pod) bool{"available": serves, "Ready": isReady} {
			before := countOf(in, is)
			after := before
			for _, a := range d.Actions {
				if slices.Contains(counted(in), a.Ordinal) && (a.Verb == Delete || a.Verb == BeginInPlace) && is(in, podAt(in, a.Ordinal)) {
					after--
				}
			}
			if after < min(before, floor) {
				t.Fatalf("%d were %s, %d are after, and there must be %d: %s", before, what, after, floor, short(d))
			}
		}
	})
}

// TestActionsAreLawful is D2, D3 and D11.
func TestActionsAreLawful(t *testing.T) {
	property(t, func(t *rapid.T, in Input, d Decision) {
		deleted, created := map[int32]bool{}, map[int32]bool{}
		for _, a := range d.Actions {
			pod := podAt(in, a.Ordinal)
			if deleted[a.Ordinal] || created[a.Ordinal] {
				t.Fatalf("done after all was done: %+v", a)
			}
			deleted[a.Ordinal], created[a.Ordinal] = a.Verb == Delete, a.Verb == Create
			if fault := unlawful(in, a, pod); fault != "" {
				t.Fatalf("%s: %+v on %+v", fault, a, pod)
			}
		}
		n := 0
		for _, is := range created {
			if is {
				n++
			}
		}
		if !in.Spec.Parallel && n > 1 {
			t.Fatalf("OrderedReady makes %d pods at once", n)
		}
	})
}

// unlawful returns the violation of an action on a pod, or an empty string.
func unlawful(in Input, a Action, pod *Pod) string {
	switch {
	case in.Spec.Deleting && a.Verb != Announce:
		return "while deleting"
	case a.Verb == Create:
		return unlawfulCreate(in, a, pod)
	case pod == nil || pod.UID != a.UID:
		return "on another pod"
	case pod.Terminating && (a.Verb != OwnClaims || pod.StandIn && slices.Contains(counted(in), a.Ordinal)):
		return "D2"
	case a.Verb == CreateClaims && !slices.Contains(counted(in), a.Ordinal):
		return "claims for a pod that goes"
	case isUpdate(a) && !inScopeOf(in, a, pod):
		return "D3"
	case a.Verb == Relabel && a.Revision != pod.SameAs:
		return "relabelled to another meaning"
	case a.Verb == Delete && pod.Phase != Failed && pod.Phase != Succeeded:
		return unlawfulDelete(in, a, pod)
	default:
		return ""
	}
}

func unlawfulCreate(in Input, a Action, pod *Pod) string {
	if pod != nil || a.UID != "" || !slices.Contains(counted(in), a.Ordinal) || slices.Contains(in.StaleClaims, a.Ordinal) {
		return "made without need"
	}
	if slices.Contains(in.Taken, a.Ordinal) && !slices.Contains(in.Spec.Ordinals(), a.Ordinal) {
		return "X-12: it stands in with somebody's data"
	}
	return ""
}

// inScopeOf reports whether the update applies to an ordinal.
func inScopeOf(in Input, a Action, pod *Pod) bool {
	switch {
	case in.Spec.Paused || in.Revisions.Blocked != "" || !slices.Contains(in.Spec.Ordinals(), a.Ordinal):
		return false
	case in.Spec.Strategy == api.OnDelete:
		return a.Verb == GrowClaims && pod.Revision == "b"
	default:
		return in.Spec.Strategy == api.Recreate || a.Ordinal >= in.Spec.Partition
	}
}

// waitsForMount reports whether a file system has not grown for a minute.
func waitsForMount(in Input, pod *Pod) bool {
	return pod.Growth.State == AwaitsFileSystem && !pod.Growth.Anew && pod.Phase == Running && !pod.Growth.Since.Add(time.Minute).After(in.Now)
}

// growsNow reports whether a roll-out waits for the claims of a pod that it has begun with.
func growsNow(in Input, pod *Pod) bool {
	inPlace := pod.Change.InPlace && in.Spec.Policy != api.ReCreate
	switch {
	case !slices.Contains(in.Spec.Ordinals(), pod.Ordinal) || in.Spec.Strategy == api.RollingUpdate && pod.Ordinal < in.Spec.Partition:
		return false
	case !pod.Change.Same && in.Spec.Policy == api.InPlaceOnly && !pod.Change.InPlace:
		return false
	case pod.Growth.State == AwaitsFileSystem:
		return !waitsForMount(in, pod) && (pod.Change.Same || inPlace)
	case pod.Growth.State == ToGrow:
		return pod.Growth.InProgress
	default:
		return pod.Growth.State == Growing || pod.Growth.State == Infeasible
	}
}

// TestGrowthIsBounded: pods whose claims grow for the update count against its budget as if they were unavailable, and no
// pod is updated while a claim cannot grow.
func TestGrowthIsBounded(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := anyInput(t)
		in.Spec.Paused, in.Spec.Deleting, in.Spec.Partition, in.Pods, in.Progress, in.Revisions.Failed = false, false, 0, nil, Progress{}, false
		for _, ordinal := range in.Spec.Ordinals() {
			pod := anyPod(t, ordinal)
			if often(t, "serves") {
				pod.Phase, pod.Ready, pod.ReadySince, pod.Terminating, pod.InPlace, pod.AskedToGo = Running, true, noon.Add(-time.Hour), false, nil, false
			}
			if pod.Growth = (Growth{}); rapid.Bool().Draw(t, "claims follow") {
				pod.Growth = anyGrowth(t)
			}
			in.Pods = append(in.Pods, pod)
		}
		if in.Spec.Strategy == api.Recreate {
			return
		}
		d := Decide(in)
		untouched := func(in Input, pod *Pod) bool { return serves(in, pod) && !growsNow(in, pod) }
		before := countOf(in, untouched)
		after := before
		for _, a := range d.Actions {
			pod := podAt(in, a.Ordinal)
			if !isUpdate(a) || a.Verb == Announce || !untouched(in, pod) {
				continue
			}
			after--
			if stops := slices.IndexFunc(in.Pods, func(p Pod) bool {
				return p.Growth.State == Infeasible && growsNow(in, &p) && !p.Terminating && p.Phase == Running
			}); stops >= 0 {
				t.Fatalf("X-10: it goes on past ordinal %d: %s", in.Pods[stops].Ordinal, short(d))
			}
		}
		if floor := len(in.Spec.Ordinals()) - int(in.Spec.MostUnavailable()); after < min(before, floor) {
			t.Fatalf("X-10: %d served and did not grow, %d do after, and there must be %d: %s", before, after, floor, short(d))
		}
	})
}

func unlawfulDelete(in Input, a Action, pod *Pod) string {
	switch {
	case isUpdate(a) && lacksImages(in, pod):
		return "its images are not there"
	case pod.HeldForDelete:
		return "the hook is passed over"
	case isUpdate(a) && (in.Spec.Policy == api.InPlaceOnly || pod.Change.Same && !waitsForMount(in, pod) && (pod.InPlace == nil || !pod.InPlace.Infeasible)):
		return "deleted without need"
	case pod.Reason != a.Reason && in.Spec.TerminationGrace > 0:
		return "deleted without a word"
	default:
		return ""
	}
}

// lacksImages reports whether an update must wait for the images of a pod.
func lacksImages(in Input, pod *Pod) bool {
	pulls := in.Spec.PrePull && !in.Spec.Migrating && in.Spec.Strategy == api.RollingUpdate
	there := pod.Pull != nil && (pod.Pull.Ended || !in.Now.Before(pod.Pull.Since.Add(5*time.Minute)))
	return pulls && isReady(in, pod) && pod.NewImages && pod.Reason == "" && !there
}

// TestWhoIsTold: exactly the pods that need a termination reason get one, before they are deleted. A set has its finalizer
// only while such pods exist or can be created.
func TestWhoIsTold(t *testing.T) {
	t.Run("X-26 whatever the set and its pods are", func(t *testing.T) {
		property(t, func(t *rapid.T, in Input, d Decision) {
			toldBeforeTheyGo(t, in, d)
			waits := !in.Spec.Deleting && isTold(in, in.Revisions.ReadsReason)
			for _, pod := range in.Pods {
				tell := !pod.Terminating && !ended(&pod) && isTold(in, pod.ReadsReason)
				waits = waits || tell && (!in.Spec.Deleting || !in.Spec.Orphaning && pod.Reason != api.TerminationDeletion)
			}
			graced := in.Spec.Deleting && d.Finalizer && in.Spec.TerminationGrace > 0
			if d.Finalizer != waits && !graced {
				t.Fatalf("finalizer: %t, pods are to be told: %t", d.Finalizer, waits)
			}
		})
	})
}

func isTold(in Input, reads bool) bool {
	return in.Spec.Tell != api.AnnounceNever && (in.Spec.Tell != api.AnnounceIfRead || reads)
}

func toldBeforeTheyGo(t *rapid.T, in Input, d Decision) {
	is := map[int32]api.TerminationReason{}
	for _, pod := range in.Pods {
		is[pod.Ordinal] = pod.Reason
	}
	for _, a := range d.Actions {
		pod := podAt(in, a.Ordinal)
		switch {
		case a.Verb == Announce && a.Reason != "" && !isTold(in, pod.ReadsReason):
			t.Fatalf("%+v is told why it goes", pod)
		case a.Verb == Announce:
			is[a.Ordinal] = a.Reason
		case a.Verb == Delete && !ended(pod) && isTold(in, pod.ReadsReason) && is[a.Ordinal] != a.Reason:
			t.Fatalf("%+v goes for %s and is told %q", pod, a.Reason, is[a.Ordinal])
		}
	}
}

// TestEverythingIsExplained is D5.
func TestEverythingIsExplained(t *testing.T) {
	property(t, func(t *rapid.T, in Input, d Decision) {
		if in.Spec.Deleting {
			return
		}
		told := map[int32]bool{}
		for _, a := range d.Actions {
			told[a.Ordinal] = true
		}
		for _, hold := range d.Held {
			told[hold.Ordinal] = true
			if hold.Reason == "" || hold.Message == "" {
				t.Fatalf("held without a word: %+v", hold)
			}
			timed := []string{HeldMinReady, HeldTerminationGrace, HeldInPlaceGrace, HeldBackoff, HeldPrePull}
			if slices.Contains(timed, hold.Reason) && d.Wait <= 0 {
				t.Fatalf("held for a time that is not waited for: %+v", hold)
			}
		}
		for _, ordinal := range in.Spec.Ordinals() {
			if pod := podAt(in, ordinal); !told[ordinal] && imperfect(in, ordinal, pod) {
				t.Fatalf("D5: nothing is said of ordinal %d: %+v", ordinal, pod)
			}
		}
		for i := range in.Pods {
			pod := &in.Pods[i]
			if staysDuplicate(d, pod) {
				t.Fatalf("a duplicate stays for nothing is done to %+v", pod)
			}
			if ordinal := pod.Ordinal; !told[ordinal] && !slices.Contains(counted(in), ordinal) {
				t.Fatalf("D5: nothing is said of ordinal %d, which is not owned", ordinal)
			}
		}
		if !slices.IsSortedFunc(d.Held, func(a, b Hold) int { return int(a.Ordinal - b.Ordinal) }) {
			t.Fatalf("not in order: %+v", d.Held)
		}
	})
}

// staysDuplicate reports whether a pod keeps a revision that has a kept equivalent.
func staysDuplicate(d Decision, pod *Pod) bool {
	stays := !pod.Terminating && pod.InPlace == nil && pod.Phase != Failed && pod.Phase != Succeeded
	return pod.SameAs != "" && stays && !slices.ContainsFunc(d.Actions, func(a Action) bool { return a.Ordinal == pod.Ordinal })
}

// imperfect reports whether an owned ordinal is not in its desired state.
func imperfect(in Input, ordinal int32, pod *Pod) bool {
	if !serves(in, pod) || pod.SameAs != "" || pod.AskedToGo || !pod.IdentityOK || !pod.ClaimsOK {
		return true
	}
	return (!pod.Change.Same || pod.Growth.State != Grown) && (in.Spec.Strategy != api.RollingUpdate || ordinal >= in.Spec.Partition)
}

// TestShift: decisions do not depend on the absolute values of ordinals.
func TestShift(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := anyInput(t)
		by := rapid.Int32Range(1, 1000).Draw(t, "by")
		moved := in
		moved.Spec.Start += by
		moved.Spec.Partition += by
		moved.Spec.Reserved, moved.Pods, moved.StaleClaims = slices.Clone(in.Spec.Reserved), slices.Clone(in.Pods), slices.Clone(in.StaleClaims)
		for i := range moved.Spec.Reserved {
			moved.Spec.Reserved[i].First += by
			moved.Spec.Reserved[i].Last += by
		}
		for i := range moved.Pods {
			moved.Pods[i].Ordinal += by
		}
		for i := range moved.StaleClaims {
			moved.StaleClaims[i] += by
		}
		moved.Taken = slices.Clone(in.Taken)
		for i := range moved.Taken {
			moved.Taken[i] += by
		}
		moved.Refused = slices.Clone(in.Refused)
		for i := range moved.Refused {
			moved.Refused[i].Ordinal += by
		}
		moved.Failures = slices.Clone(in.Failures)
		for i := range moved.Failures {
			moved.Failures[i].Ordinal += by
		}
		want, got := Decide(in), Decide(moved)
		for i := range got.Actions {
			got.Actions[i].Ordinal -= by
		}
		for i := range got.Held {
			got.Held[i].Ordinal -= by
		}
		for i := range got.Failures {
			got.Failures[i].Ordinal -= by
		}
		// Messages contain ordinals.
		if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(Hold{}, "Message"), cmpopts.IgnoreFields(Progress{}, "Message"), cmpopts.IgnoreFields(Readiness{}, "Message")); diff != "" {
			t.Fatalf("moved by %d (-stayed +moved):\n%s", by, diff)
		}
	})
}

// TestMoreBudgetMoreUpdates: a larger maxUnavailable never removes an update.
func TestMoreBudgetMoreUpdates(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := anyInput(t)
		d := Decide(in)
		in.Spec.MaxUnavailable += min(rapid.SampledFrom([]int32{1, 2, 3, math.MaxInt32}).Draw(t, "more"), math.MaxInt32-in.Spec.MaxUnavailable)
		more := Decide(in)
		for _, a := range d.Actions {
			if isUpdate(a) && !slices.Contains(more.Actions, a) {
				t.Fatalf("with maxUnavailable %d no longer: %+v", in.Spec.MaxUnavailable, a)
			}
		}
	})
}

// mayUpdate computes by brute force the pods that may be updated: the largest of all sets of pods that the rules allow. It
// is independent of Decide.
func mayUpdate(in Input) []int32 {
	owned := in.Spec.Ordinals()
	var best []int32
	for set := range 1 << len(in.Pods) {
		var chosen []int32
		for i := range in.Pods {
			if set>>i&1 == 1 {
				chosen = append(chosen, in.Pods[i].Ordinal)
			}
		}
		if len(chosen) > len(best) && lawful(in, owned, chosen) {
			best = chosen
		}
	}
	slices.Sort(best)
	return best
}

// candidate reports whether the update applies to a pod.
func candidate(in Input, p *Pod) bool {
	return slices.Contains(in.Spec.Ordinals(), p.Ordinal) && p.Ordinal >= in.Spec.Partition && p.Revision != "b" && !p.Terminating && p.Phase != Failed && p.Phase != Succeeded
}

func lawful(in Input, owned, chosen []int32) bool { //nolint:gocyclo // one condition after the other, each a line
	var taken, sick []*Pod
	for _, ordinal := range chosen {
		pod := podAt(in, ordinal)
		if !candidate(in, pod) {
			return false
		}
		if isReady(in, pod) {
			taken = append(taken, pod)
		} else if pod.Revision == in.Revisions.Current && !pod.NeverAvailable {
			sick = append(sick, pod)
		}
	}
	if len(taken)+len(sick) == 0 {
		return true
	}
	down := 0
	for _, ordinal := range owned {
		if !serves(in, podAt(in, ordinal)) || slices.Contains(chosen, ordinal) {
			down++
		}
	}
	if down > int(in.Spec.MostUnavailable()) {
		return false
	}
	if len(taken) == 0 {
		return true
	}
	for i := range in.Pods {
		pod := &in.Pods[i]
		// No pod is skipped.
		if candidate(in, pod) && serves(in, pod) && !slices.Contains(chosen, pod.Ordinal) &&
			slices.ContainsFunc(taken, func(other *Pod) bool { return other.Ordinal < pod.Ordinal && serves(in, other) }) {
			return false
		}
		if !slices.Contains(owned, pod.Ordinal) && !in.Spec.Parallel {
			return false
		}
	}
	return in.Spec.Parallel || quiet(in, owned)
}

// quiet reports whether no batch is in progress.
func quiet(in Input, owned []int32) bool {
	for _, ordinal := range owned {
		pod := podAt(in, ordinal)
		switch {
		case ordinal < in.Spec.Partition:
		case pod == nil, pod.Revision == "b" && !pod.Terminating && !serves(in, pod):
			return false
		case pod.Terminating && slices.ContainsFunc(in.Pods, func(other Pod) bool {
			return other.Ordinal > ordinal && slices.Contains(owned, other.Ordinal) && other.Revision == "b" && !other.Terminating
		}):
			return false
		}
	}
	return true
}

// TestOracle: Decide updates the same pods as a second implementation, by brute force.
func TestOracle(t *testing.T) {
	words := []string{".", "a", "a", "a", "a-", "at", "a?", "a!", "a3", "b", "b", "b-", "bt", "b3", "x", "x-"}
	rapid.Check(t, func(t *rapid.T) {
		in := slice(rapid.Int32Range(0, 6).Draw(t, "replicas"), "",
			from(rapid.Int32Range(0, 2).Draw(t, "start")), partition(rapid.Int32Range(0, 6).Draw(t, "partition")),
			unavailable(rapid.Int32Range(1, 4).Draw(t, "maxUnavailable")), minReady(5))
		in.Spec.Parallel = rapid.Bool().Draw(t, "parallel")
		for ordinal := range int32(6) {
			if word := rapid.SampledFrom(words).Draw(t, "pod"); word != "." {
				pod := podsOf(ordinal, word)[0]
				pod.NeverAvailable = !pod.Ready && rapid.Bool().Draw(t, "never available")
				in.Pods = append(in.Pods, pod)
			}
		}
		if in.Spec.Parallel {
			// Pods that the slice does not own wait for the missing owned ones.
			owned := in.Spec.Ordinals()
			in.Pods = slices.DeleteFunc(in.Pods, func(p Pod) bool { return !slices.Contains(owned, p.Ordinal) })
		}
		var got []int32
		for _, a := range Decide(in).Actions {
			if a.Verb == Delete && isUpdate(a) {
				got = append(got, a.Ordinal)
			}
		}
		slices.Sort(got)
		if want := mayUpdate(in); !slices.Equal(got, want) {
			t.Fatalf("updates %v, may update %v", got, want)
		}
	})
}
