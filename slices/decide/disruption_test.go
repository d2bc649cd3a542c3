package decide

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	api "github.com/sliceshift/sliceshift/api/apps/v1alpha1"
)

// allowing returns a budget of three pods that needs two healthy ones.
func allowing(allowed, healthy int32) Budget {
	return Budget{Name: "one", Observed: true, Allowed: allowed, Healthy: healthy, Desired: 2, Expected: 3}
}

// within sets budget: PodDisruptionBudget, with budgets that select all pods.
func within(in Input, budgets ...Budget) Input {
	in.Spec.Evicts, in.Budgets.All = true, budgets
	for i := range in.Pods {
		for _, b := range budgets {
			in.Pods[i].Budgets = append(in.Pods[i].Budgets, b.Name)
		}
	}
	return in
}

// refusedBefore adds an eviction of a pod that was refused some time ago.
func refusedBefore(in Input, ordinal int32, ago time.Duration) Input {
	in.Refused = append(in.Refused, Refusal{Verb: Evict, Ordinal: ordinal, UID: podAt(in, ordinal).UID, Message: "not now", At: noon.Add(-ago)})
	return in
}

// TestEvictsWithinTheBudget: which pods are evicted, deleted or held with budget: PodDisruptionBudget.
func TestEvictsWithinTheBudget(t *testing.T) {
	all := []func(*Input){parallel, unavailable(3)}
	settled := []func(*Input){parallel, unavailable(3), settledAt("b")}
	migrating := func(in *Input) { in.Spec.Migrating = true }
	told := func(in *Input) { in.Spec.Tell, in.Spec.TerminationGrace = api.AnnounceAlways, 10*time.Second }
	other := allowing(1, 3)
	other.Name = "two"
	unobserved, always := allowing(1, 3), allowing(0, 1)
	unobserved.Observed, always.AlwaysAllow = false, true
	unread := within(slice(3, "a a a", all...))
	unread.Budgets.Unread = "forbidden"
	another := refusedBefore(within(slice(3, "a a a", all...), allowing(1, 3)), 2, time.Second)
	another.Refused[0].UID = "former"
	gone := within(slice(3, "a a .", all...), allowing(0, 2))
	gone.Refused = []Refusal{{Verb: Evict, Ordinal: 2, UID: "uid-2", Message: "not now", At: noon}}
	check(t, []row{
		{name: "one disruption is allowed", in: within(slice(3, "a a a", all...), allowing(1, 3)), want: "Evict 2", held: map[int32]string{0: HeldDisruption, 1: HeldDisruption}},
		{name: "none is", in: within(slice(3, "a a a", all...), allowing(0, 2)), want: "", held: map[int32]string{0: HeldDisruption, 1: HeldDisruption, 2: HeldDisruption}},
		{name: "no budget selects the pods", in: within(slice(3, "a a a", all...)), want: "Evict 2, Evict 1, Evict 0"},
		{name: "budgets that cannot be read", in: unread, want: "Evict 2, Evict 1, Evict 0"},
		{name: "two budgets", in: within(slice(3, "a a a", all...), allowing(1, 3), other), want: "", held: map[int32]string{2: HeldDisruption}},
		{name: "the controller has not computed it", in: within(slice(3, "a a a", all...), unobserved), want: "", held: map[int32]string{2: HeldDisruption}},
		{name: "maxUnavailable counts as well", in: within(slice(3, "a a a"), allowing(3, 3)), want: "Evict 2", held: map[int32]string{1: HeldBudget}},
		{name: "a pod that is not Ready, and enough others are", in: within(slice(3, "a a a-", all...), allowing(0, 2)), want: "Evict 2", held: map[int32]string{1: HeldDisruption}},
		{name: "too few others are", in: within(slice(3, "a a a-", all...), allowing(0, 1)), want: "", held: map[int32]string{2: HeldDisruption}},
		{name: "a pod of a broken revision as well", in: within(slice(3, "a a x-", all...), allowing(0, 1)), want: "", held: map[int32]string{2: HeldDisruption}},
		{name: "unhealthyPodEvictionPolicy AlwaysAllow", in: within(slice(3, "a a- a-", all...), always), want: "Evict 2, Evict 1", held: map[int32]string{0: HeldDisruption}},
		{name: "a pod that is Pending needs no budget", in: within(slice(3, "a a a?", all...), allowing(0, 1)), want: "Evict 2"},
		{name: "nor does one that has ended", in: within(slice(3, "b b b!", settled...), allowing(0, 1)), want: "Delete 2"},
		{name: "nor a scale-down", in: within(slice(2, "b b b", settled...), allowing(0, 1)), want: "Delete 2"},
		{name: "nor the end of a surge pod", in: within(slice(2, "b b b", settledAt("b"), surge(1)).with(2, func(p *Pod) { p.StandIn = true }), allowing(0, 2)), want: "Delete 2"},
		{name: "a deletion on request", in: within(slice(3, "b b b*", settled...), allowing(1, 3)), want: "Evict 2"},
		{name: "a deletion on request waits", in: within(slice(3, "b b b*", settled...), allowing(0, 2)), want: "", held: map[int32]string{2: HeldDisruption}},
		{name: "refused just now", in: refusedBefore(within(slice(3, "a a a", all...), allowing(1, 3)), 2, time.Second), want: "", held: map[int32]string{1: HeldDisruption, 2: HeldDisruption}},
		{name: "refused just now, and another pod has no budget", in: refusedBefore(within(slice(3, "a a a", all...), allowing(1, 3)), 2, time.Second).with(1, func(p *Pod) { p.Budgets = nil }), want: "Evict 1", held: map[int32]string{2: HeldDisruption}},
		{name: "refused five seconds ago", in: refusedBefore(within(slice(3, "a a a", all...), allowing(1, 3)), 2, RetryEviction), want: "Evict 2"},
		{name: "a former pod was refused", in: another, want: "Evict 2"},
		{name: "and no other came", in: gone, want: "Create 2b", held: map[int32]string{1: HeldDisruption}},
		{name: "0 healthy pods are not enough for a pod that is not Ready", in: within(slice(3, "a a a-", all...), Budget{Name: "one", Observed: true, Expected: 3}), want: "", held: map[int32]string{2: HeldDisruption}},
		{name: "1 of 1 is", in: within(slice(3, "a a a-", all...), Budget{Name: "one", Observed: true, Healthy: 1, Desired: 1, Expected: 3}), want: "Evict 2"},
		{name: "beside a migration", in: within(slice(3, "a a a", parallel, unavailable(3), migrating), allowing(1, 3)), want: "Evict 2", held: map[int32]string{1: HeldDisruption}},
		{name: "beside a migration a pod that is not Ready is deleted", in: within(slice(3, "a a a-", parallel, unavailable(3), migrating), allowing(0, 1)), want: "Delete 2", held: map[int32]string{1: HeldDisruption}},
		{name: "no pod hears of a deletion that the budget refuses", in: within(slice(3, "a a a", told), allowing(0, 2)), want: "", held: map[int32]string{2: HeldDisruption}},
		{name: "it hears of one that the budget allows", in: within(slice(3, "a a a", told), allowing(1, 3)), want: "Announce 2 Update", held: map[int32]string{2: HeldTerminationGrace}},
		{name: "in order", in: within(slice(3, "a a a"), allowing(1, 3)), want: "Evict 2", held: map[int32]string{1: HeldBudget}},
	})
}

// TestChargesForInPlace: an update in place begins when its budget is charged, and the charge ends when the pod serves.
func TestChargesForInPlace(t *testing.T) {
	inPlace := func(in *Input) { in.Spec.Policy = api.InPlaceOnly }
	all := []func(*Input){parallel, unavailable(3), inPlace}
	pods := func(text string, change func(*Pod), budgets ...Budget) Input {
		in := within(slice(3, text, all...), budgets...)
		for i := range in.Pods {
			possible(&in.Pods[i])
		}
		change(&in.Pods[2])
		return in
	}
	as := func(*Pod) {}
	charged := func(p *Pod) { p.Charged = true }
	own := func(p *Pod) { p.Charged, p.OwnCharge = true, true }
	begun := func(p *Pod) {
		own(p)
		p.Ready, p.InPlace = false, &InPlace{Revision: "b", Since: noon}
	}
	resizing := func(p *Pod) {
		p.InPlace = &InPlace{Revision: "a", Since: noon, Patched: true, Waits: "no room", Serves: true}
	}
	unread := pods("b b a", as)
	unread.Budgets.Unread = "forbidden"
	other := allowing(1, 3)
	other.Name = "two"
	serving := func(change func(*Pod)) Input {
		in := pods("b b b", own, allowing(0, 2))
		for i := range in.Pods {
			in.Pods[i].Change = Change{Same: true}
		}
		return in.with(2, change)
	}
	check(t, []row{
		{name: "one disruption is allowed", in: pods("a a a", as, allowing(1, 3)), want: "ChargeBudget 2, BeginInPlace 2", held: map[int32]string{1: HeldDisruption, 0: HeldDisruption}},
		{name: "none is", in: pods("a a a", as, allowing(0, 2)), want: "", held: map[int32]string{2: HeldDisruption}},
		{name: "no budget selects the pods", in: pods("b b a", as), want: "BeginInPlace 2"},
		{name: "budgets that cannot be read", in: unread, want: "", held: map[int32]string{2: HeldDisruption}},
		{name: "two budgets", in: pods("b b a", as, allowing(1, 3), other), want: "", held: map[int32]string{2: HeldDisruption}},
		{name: "it is charged already", in: pods("b b a", charged, allowing(0, 2)), want: "BeginInPlace 2"},
		{name: "a pod that is not Ready costs nothing", in: pods("b b a-", as, allowing(0, 2)), want: "BeginInPlace 2"},
		{name: "but waits while too few others are Ready", in: pods("b b a-", as, allowing(0, 1)), want: "", held: map[int32]string{2: HeldDisruption}},
		{name: "a pod that serves while it is resized is charged", in: pods("b b a", resizing, allowing(1, 3)), want: "ChargeBudget 2, BeginInPlace 2"},
		{name: "the charge stays while it is updated", in: pods("b b a", begun, allowing(0, 2)), want: "PatchInPlace 2"},
		{name: "it is charged by this process", in: pods("b b a", own, allowing(0, 2)), want: "BeginInPlace 2"},
		{name: "an update that overtakes another costs nothing", in: pods("b b a-", func(p *Pod) { p.InPlace = &InPlace{Revision: "x"} }, allowing(0, 1)), want: "BeginInPlace 2"},
		{name: "it ends when the pod serves", in: serving(as), want: "ReleaseBudget 2"},
		{name: "not while it is Ready and about to change", in: serving(func(p *Pod) { p.InPlace = &InPlace{Revision: "b", Since: noon} }), want: "", held: map[int32]string{2: HeldInPlace}},
		{name: "nor while it is not Ready", in: serving(func(p *Pod) { p.Ready = false }), want: "", held: map[int32]string{2: HeldNotReady}},
		{name: "nor when it goes", in: serving(func(p *Pod) { p.Terminating = true }), want: "", held: map[int32]string{2: HeldTerminating}},
		{name: "it ends when the update does not begin", in: pods("b b a", func(p *Pod) { own(p); p.HeldForUpdate = true }, allowing(0, 2)), want: "ReleaseBudget 2", held: map[int32]string{2: HeldInPlaceUpdate}},
		{name: "a charge of another writer stays", in: pods("b b a", func(p *Pod) { charged(p); p.HeldForUpdate = true }, allowing(0, 2)), want: "", held: map[int32]string{2: HeldInPlaceUpdate}},
	})
}

// TestDisruptionMessages: a held pod names the budget, how many disruptions it allows and since when, and what to do.
func TestDisruptionMessages(t *testing.T) {
	all := []func(*Input){parallel, unavailable(3)}
	since, never, failing, unobserved, other := allowing(0, 2), allowing(0, 3), allowing(0, 0), allowing(1, 3), allowing(1, 3)
	since.Since, never.Desired, failing.Fault = noon.Add(-100*time.Second), 3, "found no controllers"
	unobserved.Observed, other.Name = false, "two"
	unread := within(slice(3, "b b a", parallel, func(in *Input) { in.Spec.Policy = api.InPlaceOnly }).with(2, possible))
	unread.Budgets.Unread = "poddisruptionbudgets is forbidden"
	unlisted := within(slice(3, "b b a", all...), allowing(1, 3))
	unlisted.Budgets.All = nil
	for name, tc := range map[string]struct {
		in    Input
		want  string
		again time.Duration
	}{
		"none is allowed":            {within(slice(3, "b b a", all...), allowing(0, 2)), "PodDisruptionBudget one allows 0 disruptions: it needs 2 healthy pods and has 2", 5 * time.Second},
		"and since when":             {within(slice(3, "b b a", all...), since), "PodDisruptionBudget one allows 0 disruptions since 2026-01-01T11:58:20Z: it needs 2 healthy pods and has 2", 5 * time.Second},
		"it never allows one":        {within(slice(3, "b b a", all...), never), "PodDisruptionBudget one allows 0 disruptions: it needs 3 healthy pods of 3, so it never allows one; raise its maxUnavailable or lower its minAvailable, or set updateStrategy.rollingUpdate.budget: None", 5 * time.Second},
		"a pod that is not Ready":    {within(slice(3, "b b a-", all...), allowing(0, 1)), "PodDisruptionBudget one allows 0 disruptions: it needs 2 healthy pods and has 1; to let it replace a pod that is not Ready, set its unhealthyPodEvictionPolicy: AlwaysAllow", 5 * time.Second},
		"its controller fails":       {within(slice(3, "b b a", all...), failing), "PodDisruptionBudget one allows 0 disruptions, because the disruption controller fails: found no controllers", 5 * time.Second},
		"it is not computed yet":     {within(slice(3, "b b a", all...), unobserved), "the disruption controller has not computed PodDisruptionBudget one yet", time.Second},
		"it is not read yet":         {unlisted, "PodDisruptionBudget one has not been read yet", time.Second},
		"two of them":                {within(slice(3, "b b a", all...), allowing(1, 3), other), "PodDisruptionBudgets one and two select it, and the API server evicts no pod that several select: change their selectors so that one selects it", 5 * time.Second},
		"they cannot be read":        {unread, "PodDisruptionBudgets cannot be read, which the manager must be allowed to list and watch: poddisruptionbudgets is forbidden", 5 * time.Second},
		"the API server has refused": {refusedBefore(within(slice(3, "b b a", all...), allowing(1, 3)), 2, 2*time.Second), "the API server has not evicted ordinal 2: not now", 3 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			d := Decide(tc.in)
			var got []string
			for _, h := range d.Held {
				if h.Ordinal == 2 {
					got = append(got, h.Message)
				}
			}
			if diff := cmp.Diff(tc.want, strings.Join(got, "; ")); diff != "" || d.Wait != tc.again {
				t.Errorf("(-want +got):\n%s\nagain after %s, want %s", diff, d.Wait, tc.again)
			}
		})
	}
	for allowed, want := range map[int32]string{1: "Evict 2", 2: "Evict 2, Evict 1"} {
		d := Decide(within(slice(3, "a a a", all...), allowing(allowed, 3)))
		if says := fmt.Sprintf("PodDisruptionBudget one allows %d at a time", allowed); short(d) != want || d.Held[0].Message != says || d.Wait != time.Second {
			t.Errorf("%q, held %+v, again after %s", short(d), d.Held, d.Wait)
		}
	}
}

// TestLatestRefusalCounts: after several refusals under one budget, the next eviction waits for the latest.
func TestLatestRefusalCounts(t *testing.T) {
	for _, order := range [][2]int32{{1, 2}, {2, 1}} {
		in := within(slice(3, "a a a", parallel, unavailable(3)), allowing(1, 3))
		in = refusedBefore(refusedBefore(in, order[0], time.Second), order[1], 4*time.Second)
		d := Decide(in)
		if want := fmt.Sprintf("the API server has not evicted ordinal %d: not now", order[0]); short(d) != "" || d.Held[0].Message != want || d.Wait != 4*time.Second {
			t.Errorf("%q, held %+v, again after %s", short(d), d.Held, d.Wait)
		}
	}
}

// TestRefusedEvictionsAreKept: a refused eviction is known until it is tried again.
func TestRefusedEvictionsAreKept(t *testing.T) {
	for ago, want := range map[time.Duration]int{0: 1, RetryEviction - 1: 1, RetryEviction: 0} {
		d := Decide(refusedBefore(within(slice(3, "b b a"), allowing(1, 3)), 2, ago))
		if len(d.Refused) != want {
			t.Errorf("after %s: %+v", ago, d.Refused)
		}
	}
}

// TestReadAgain: the longer a budget allows no disruption, the more seldom it is read.
func TestReadAgain(t *testing.T) {
	for ago, want := range map[time.Duration]time.Duration{0: time.Second, 5 * time.Second: time.Second, 20 * time.Second: 2 * time.Second, time.Hour: 5 * time.Second} {
		b := allowing(0, 2)
		b.Since = noon.Add(-ago)
		if got := Decide(within(slice(3, "b b a"), b)).Wait; got != want {
			t.Errorf("held for %s: after %s, want %s", ago, got, want)
		}
	}
}

// anyBudgets draws budgets, and which of them select which pods.
func anyBudgets(t *rapid.T, in *Input) {
	in.Spec.Evicts = true
	for _, name := range []string{"one", "two"} {
		in.Budgets.All = append(in.Budgets.All, Budget{
			Name: name, Observed: often(t, "observed"), AlwaysAllow: rapid.Bool().Draw(t, "always"),
			Allowed: rapid.Int32Range(0, 2).Draw(t, "allowed"), Healthy: rapid.Int32Range(0, 3).Draw(t, "healthy"), Desired: rapid.Int32Range(0, 3).Draw(t, "desired"), Expected: 3,
		})
	}
	for i := range in.Pods {
		pod := &in.Pods[i]
		pod.Budgets = rapid.SampledFrom([][]string{nil, {"one"}, {"one"}, {"two"}, {"one", "two"}}).Draw(t, "budgets")
		pod.Charged = seldom(t, "charged")
		pod.OwnCharge = pod.Charged && rapid.Bool().Draw(t, "own")
		if seldom(t, "refused eviction") {
			in.Refused = append(in.Refused, Refusal{Verb: Evict, Ordinal: pod.Ordinal, UID: pod.UID, Message: "no", At: noon.Add(-anyTime(t, "refused at"))})
		}
	}
}

// TestNoneWithoutADisruption is D9.
func TestNoneWithoutADisruption(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := anyInput(t)
		anyBudgets(t, &in)
		if in.Spec.Strategy != api.RollingUpdate {
			return
		}
		d := Decide(in)
		used, charged := map[string]int32{}, map[int32]bool{}
		for _, a := range d.Actions {
			pod := podAt(in, a.Ordinal)
			if a.Verb == Evict || a.Verb == ChargeBudget {
				mustAllow(t, in, pod, used)
			}
			charged[a.Ordinal] = charged[a.Ordinal] || a.Verb == ChargeBudget
			if a.Verb == ReleaseBudget && (!pod.OwnCharge || !pod.Ready || pod.InPlace != nil || pod.Terminating) {
				t.Fatalf("released too early: %+v", pod)
			}
			if wrong := pastBudget(in, a, pod, charged[a.Ordinal]); wrong != "" {
				t.Fatalf("D9: %s: %+v on %+v", wrong, a, pod)
			}
		}
	})
}

// pastBudget returns why an action takes a pod down without its budget, or an empty string. charged reports whether an action
// before it has charged the budget.
func pastBudget(in Input, a Action, pod *Pod, charged bool) string {
	if pod == nil {
		return ""
	}
	forUpdate := a.Reason == api.TerminationUpdate || a.Reason == api.TerminationDeletion
	free := charged || pod.Charged || len(pod.Budgets) == 0
	begins := (pod.InPlace == nil || pod.InPlace.Serves) && isReady(in, pod)
	switch {
	case a.Verb == Evict && !forUpdate:
		return "evicted although it goes for another reason"
	case a.Verb == Delete && forUpdate && !ended(pod) && (ready(pod) || !in.Spec.Migrating):
		return "deleted past its budget"
	case a.Verb == BeginInPlace && !free && begins:
		return "it begins without a charge"
	default:
		return ""
	}
}

// mustAllow fails unless the API server would evict a pod after the disruptions that are used already. It charges the budget.
func mustAllow(t *rapid.T, in Input, pod *Pod, used map[string]int32) {
	if pod.Phase == Pending || len(pod.Budgets) == 0 {
		return
	}
	if len(pod.Budgets) > 1 {
		t.Fatalf("D9: two budgets select ordinal %d", pod.Ordinal)
	}
	b := in.Budgets.All[slices.IndexFunc(in.Budgets.All, func(b Budget) bool { return b.Name == pod.Budgets[0] })]
	if (pod.Phase != Running || !pod.Ready) && (b.AlwaysAllow || b.Healthy >= b.Desired && b.Desired > 0) {
		return
	}
	if used[b.Name]++; used[b.Name] > b.Allowed || !b.Observed {
		t.Fatalf("D9: ordinal %d is disrupted, and budget %+v does not allow it", pod.Ordinal, b)
	}
}

// TestPlentifulBudget: where the budgets allow everything, the same pods go at the same time as without them.
func TestPlentifulBudget(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := anyInput(t)
		want := Decide(in)
		in = within(in, Budget{Name: "plenty", Observed: true, Allowed: 100, Healthy: 100, Desired: 1, Expected: 101})
		got := Decide(in)
		plain := func(actions []Action) (out []Action) {
			for _, a := range actions {
				if a.Verb == Evict {
					a.Verb = Delete
				}
				if a.Verb != ChargeBudget {
					out = append(out, a)
				}
			}
			return out
		}
		got.Actions = plain(got.Actions)
		if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("(-without +with):\n%s", diff)
		}
	})
}

// TestManyUnderOneBudget: a set of 1,000,000 replicas of which thousands run costs no more than one without a budget.
func TestManyUnderOneBudget(t *testing.T) {
	in := slice(1_000_000, "", parallel, unavailable(1_000_000))
	for ordinal := range int32(5000) {
		in.Pods = append(in.Pods, podsOf(ordinal, "a")...)
	}
	in = within(in, allowing(1, 3))
	began := time.Now()
	d := Decide(in)
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("it takes %s", took)
	}
	evicted := slices.DeleteFunc(d.Actions, func(a Action) bool { return a.Verb != Evict })
	if got := fmt.Sprint(len(evicted), heldAs(d, 0)); got != "1"+HeldDisruption {
		t.Errorf("%s", got)
	}
}
