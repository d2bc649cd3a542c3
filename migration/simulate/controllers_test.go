package simulate

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/sliceshift/sliceshift/migration/plan"
)

// podsUp returns Ready pods.
func podsUp(ordinals ...int32) []plan.Pod {
	pods := make([]plan.Pod, 0, len(ordinals))
	for _, k := range ordinals {
		pods = append(pods, plan.Pod{Ordinal: k, Ready: true})
	}
	return pods
}

// withPod returns a copy of pods with one changed.
func withPod(pods []plan.Pod, at int, change func(*plan.Pod)) []plan.Pod {
	pods = slices.Clone(pods)
	change(&pods[at])
	return pods
}

func startsUp(p *plan.Pod)    { p.Ready = false }
func goesDown(p *plan.Pod)    { p.Terminating = true }
func goesUnready(p *plan.Pod) { p.Ready, p.Terminating = false, true }

// TestWorldControlSet: the controller of a set creates the lowest missing ordinal, and then deletes the highest
// one outside its range, one at a time. With OrderedReady it waits for each pod that is not Ready, and for each
// that terminates.
func TestWorldControlSet(t *testing.T) {
	for name, tc := range map[string]struct {
		pods    []plan.Pod
		ordered bool
		want    string
	}{
		"all are there":                            {podsUp(1, 2, 3), true, ""},
		"none is there":                            {nil, true, "make 1"},
		"the first is missing":                     {podsUp(2, 3), true, "make 1"},
		"one between is missing":                   {podsUp(1, 3), true, "make 2"},
		"the last is missing":                      {podsUp(1, 2), true, "make 3"},
		"the first beside one below":               {podsUp(0, 2, 3), true, "make 1"},
		"the last beside one above":                {podsUp(1, 2, 4), true, "make 3"},
		"in order one that starts is waited for":   {withPod(podsUp(1, 3), 0, startsUp), true, ""},
		"in order one that ends is waited for":     {withPod(podsUp(1, 3), 0, goesDown), true, ""},
		"in order one that is down":                {withPod(podsUp(1, 3), 0, goesUnready), true, ""},
		"at once nobody is waited for":             {withPod(podsUp(1, 3), 0, startsUp), false, "make 2"},
		"at once nobody who ends is waited for":    {withPod(podsUp(1, 3), 0, goesDown), false, "make 2"},
		"one above ends":                           {podsUp(1, 2, 3, 4), true, "end 4"},
		"one below ends":                           {podsUp(0, 1, 2, 3), true, "end 0"},
		"the highest one ends first":               {podsUp(0, 1, 2, 3, 4, 5), true, "end 5"},
		"in order the highest one must have ended": {withPod(podsUp(0, 1, 2, 3, 4, 5), 5, goesDown), true, ""},
		"at once the next one ends as well":        {withPod(podsUp(0, 1, 2, 3, 4, 5), 5, goesDown), false, "end 4"},
		"at once the one below ends as well":       {withPod(podsUp(0, 1, 2, 3, 4), 4, goesDown), false, "end 0"},
		"all outside end already":                  {withPod(podsUp(1, 2, 3, 4), 3, goesDown), false, ""},
	} {
		t.Run(name, func(t *testing.T) {
			w := &World{Controllers: map[plan.SideName]Controller{plan.SourceSide: {Start: 1, Replicas: 3}}}
			w.State.Source = plan.Side{Set: plan.Set{Presence: plan.Seen, Ordered: tc.ordered}, Pods: slices.Clone(tc.pods)}
			if acts := w.ControlSet(plan.SourceSide); acts != (tc.want != "") {
				t.Errorf("it says that it acts: %t", acts)
			}
			if got := podsDid(tc.pods, w.State.Source.Pods); got != tc.want {
				t.Errorf("it does %q, want %q", got, tc.want)
			}
		})
	}
	w := &World{Controllers: map[plan.SideName]Controller{plan.SourceSide: {Start: 1, Replicas: 3}}}
	if w.State.Source.Set.Presence = plan.Absent; w.ControlSet(plan.SourceSide) || len(w.State.Source.Pods) > 0 {
		t.Errorf("a set that is not there has made %+v", w.State.Source.Pods)
	}
}

// TestY13DeleteFirst: with Parallel a controller may delete the highest pod outside of its range while a replica is
// missing. With OrderedReady only one of our own kind does, one pod at a time.
func TestY13DeleteFirst(t *testing.T) {
	for name, tc := range map[string]struct {
		pods         []plan.Pod
		ordered, own bool
		want         string
	}{
		"one is missing, and one above":              {podsUp(1, 3, 4), false, false, "end 4"},
		"one is missing, and one below":              {podsUp(0, 1, 2), false, false, "end 0"},
		"one is missing, and two above":              {podsUp(1, 3, 4, 5), false, false, "end 5"},
		"all are missing":                            {podsUp(0, 7), false, false, "end 7"},
		"the next one ends as well":                  {withPod(podsUp(1, 3, 4, 5), 3, goesDown), false, false, "end 4"},
		"those outside end already":                  {withPod(podsUp(1, 3, 4), 2, goesDown), false, false, ""},
		"none is missing":                            {podsUp(1, 2, 3, 4), false, false, ""},
		"none is outside":                            {podsUp(1, 3), false, false, ""},
		"in order":                                   {podsUp(1, 3, 4), true, false, ""},
		"in order, of our own kind":                  {podsUp(1, 3, 4, 5), true, true, "end 5"},
		"in order, of our own kind, the highest one": {withPod(podsUp(1, 3, 4, 5), 3, goesDown), true, true, ""},
		"at once, of our own kind":                   {withPod(podsUp(1, 3, 4, 5), 3, goesDown), false, true, "end 4"},
	} {
		t.Run(name, func(t *testing.T) {
			w := &World{Controllers: map[plan.SideName]Controller{plan.SourceSide: {Start: 1, Replicas: 3}}}
			w.State.Source = plan.Side{Set: plan.Set{Presence: plan.Seen, Ordered: tc.ordered, Rolls: plan.Rolls{Own: tc.own}}, Pods: slices.Clone(tc.pods)}
			if acts := w.DeleteFirst(plan.SourceSide); acts != (tc.want != "") {
				t.Errorf("it reports that it acts: %t", acts)
			}
			if got := podsDid(tc.pods, w.State.Source.Pods); got != tc.want {
				t.Errorf("it does %q, want %q", got, tc.want)
			}
			if w.State.Source.Set.Presence = plan.Absent; w.DeleteFirst(plan.SourceSide) {
				t.Error("a set that does not exist deletes a pod")
			}
		})
	}
}

// TestY13BothOrdersEndEqually: a controller reaches the same pods in either order.
func TestY13BothOrdersEndEqually(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var pods []plan.Pod
		for ordinal := range int32(7) {
			if rapid.Bool().Draw(t, "exists") {
				pods = append(pods, plan.Pod{Ordinal: ordinal, Ready: rapid.Bool().Draw(t, "Ready"), Terminating: rapid.Bool().Draw(t, "Terminating")})
			}
		}
		known := Controller{Start: rapid.Int32Range(0, 3).Draw(t, "start"), Replicas: rapid.Int32Range(0, 4).Draw(t, "replicas")}
		var ends [2][]string
		for i, first := range []bool{false, true} {
			w := &World{Controllers: map[plan.SideName]Controller{plan.SourceSide: known}}
			w.State.Source = plan.Side{Set: plan.Set{Presence: plan.Seen}, Pods: slices.Clone(pods)}
			for acts := true; acts; {
				acts = first && w.DeleteFirst(plan.SourceSide) || w.ControlSet(plan.SourceSide)
			}
			for _, pod := range w.State.Source.Pods {
				ends[i] = append(ends[i], fmt.Sprint(pod.Ordinal, pod.Terminating))
			}
		}
		if diff := cmp.Diff(ends[0], ends[1]); diff != "" {
			t.Errorf("-creates first +deletes first\n%s", diff)
		}
	})
}

// podsDid describes the change of pods: the created or the deleted one.
func podsDid(before, after []plan.Pod) string {
	was, done := plan.Side{Pods: before}, []string{}
	for _, pod := range after {
		old, found := was.Pod(pod.Ordinal)
		switch {
		case !found:
			done = append(done, fmt.Sprintf("make %d", pod.Ordinal))
		case pod.Terminating != old.Terminating:
			done = append(done, fmt.Sprintf("end %d", pod.Ordinal))
		}
	}
	return strings.Join(done, ", ")
}

// TestWorldLearn: a controller observes a new range, and a share that differs from its own. A rollout exists if a
// pod has an older revision, or its deletion was requested.
func TestWorldLearn(t *testing.T) {
	set := plan.Set{Presence: plan.Seen, Start: 2, Replicas: 3, RolledOut: true, Rolls: plan.Rolls{Own: true, Shared: true, Share: 1}}
	one := Cap{Set: true, Most: 1}
	knows, known := Controller{Start: 7, Replicas: 9, Cap: one, CapObserved: Cap{Most: 5}}, Controller{Start: 2, Replicas: 3, Cap: one, CapObserved: Cap{Most: 5}}
	rolls := known
	rolls.RollsOut = true
	for name, tc := range map[string]struct {
		change func(*plan.Set)
		keeps  Cap
		want   Controller
	}{
		"a new range":                    {func(*plan.Set) {}, one, known},
		"nothing is new":                 {func(s *plan.Set) { s.Observed = true }, one, knows},
		"a new share":                    {func(s *plan.Set) { s.Observed = true }, Cap{}, known},
		"both":                           {func(*plan.Set) {}, Cap{}, known},
		"it is absent":                   {func(s *plan.Set) { s.Presence = plan.Absent }, one, knows},
		"it rolls out":                   {func(s *plan.Set) { s.RolledOut = false }, one, rolls},
		"it was asked for a pod":         {func(s *plan.Set) { s.Rolls.Asked = true }, one, rolls},
		"it rolls out and was asked for": {func(s *plan.Set) { s.RolledOut, s.Rolls.Asked = false, true }, one, rolls},
	} {
		t.Run(name, func(t *testing.T) {
			before, now := knows, set
			before.Cap = tc.keeps
			tc.change(&now)
			w := &World{State: plan.Snapshot{Source: plan.Side{Set: now}}, Controllers: map[plan.SideName]Controller{plan.SourceSide: before}}
			anew, want := tc.want != knows, now
			want.Observed = now.Observed || anew
			if learns := w.Learn(plan.SourceSide); learns != anew {
				t.Errorf("it says that it learns something: %t", learns)
			}
			if got := w.Controllers[plan.SourceSide]; got != tc.want {
				t.Errorf("it acts on %+v, want %+v", got, tc.want)
			}
			if diff := cmp.Diff(want, w.State.Source.Set); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
		})
	}
}

// TestWorldConfirm: the limit of rollouts is reported after it was observed, and once. Only our own kind reports
// it, and a share is heeded when exactly that one is reported.
func TestWorldConfirm(t *testing.T) {
	one, two := Cap{Set: true, Most: 1}, Cap{Set: true, Most: 2}
	set := plan.Set{Presence: plan.Seen, Rolls: plan.Rolls{Own: true, Shared: true, Share: 1}}
	for name, tc := range map[string]struct {
		change       func(*plan.Set)
		keeps, told  Cap
		acts, heeded bool
	}{
		"it is told":                {func(*plan.Set) {}, one, Cap{}, true, true},
		"it was told":               {func(*plan.Set) {}, one, one, false, false},
		"the set is absent":         {func(s *plan.Set) { s.Presence = plan.Absent }, one, Cap{}, false, false},
		"another one is kept to":    {func(*plan.Set) {}, two, one, true, false},
		"none is kept to":           {func(*plan.Set) {}, Cap{}, one, true, false},
		"there is none any more":    {func(s *plan.Set) { s.Rolls.Shared, s.Rolls.Share = false, 0 }, Cap{}, one, true, true},
		"another kind tells no one": {func(s *plan.Set) { s.Rolls.Own = false }, one, Cap{}, true, false},
	} {
		w := &World{State: plan.Snapshot{Source: plan.Side{Set: set}}, Controllers: map[plan.SideName]Controller{plan.SourceSide: {Start: 4, Cap: tc.keeps, CapObserved: tc.told}}}
		tc.change(&w.State.Source.Set)
		if acts := w.Confirm(plan.SourceSide); acts != tc.acts {
			t.Errorf("%s: it says that it acts: %t", name, acts)
		}
		want := Controller{Start: 4, Cap: tc.keeps, CapObserved: tc.told}
		if tc.acts {
			want.CapObserved = tc.keeps
		}
		if got := w.Controllers[plan.SourceSide]; got != want || w.State.Source.Set.Rolls.Heeded != tc.heeded {
			t.Errorf("%s: it has told %+v, heeded %t", name, got, w.State.Source.Set.Rolls.Heeded)
		}
	}
}

// TestWorldControlBudgets: the disruption controller of a side observes its single budget, which in one namespace
// is also the other side's.
func TestWorldControlBudgets(t *testing.T) {
	seen, not := plan.Budget{Observed: true}, plan.Budget{}
	for name, tc := range map[string]struct {
		source, destination         []plan.Budget
		same                        bool
		acts                        bool
		wantSource, wantDestination []plan.Budget
	}{
		"none":                {nil, nil, false, false, nil, nil},
		"observed already":    {[]plan.Budget{seen}, []plan.Budget{not}, false, false, []plan.Budget{seen}, []plan.Budget{not}},
		"one":                 {[]plan.Budget{not}, []plan.Budget{not}, false, true, []plan.Budget{seen}, []plan.Budget{not}},
		"one of one side":     {[]plan.Budget{not}, nil, false, true, []plan.Budget{seen}, nil},
		"one of both":         {[]plan.Budget{not}, []plan.Budget{not}, true, true, []plan.Budget{seen}, []plan.Budget{seen}},
		"nobody knows of two": {[]plan.Budget{not, not}, nil, false, false, []plan.Budget{not, not}, nil},
	} {
		w := &World{State: plan.Snapshot{Spec: plan.Spec{SameNamespace: tc.same}, Source: plan.Side{Budgets: tc.source}, Destination: plan.Side{Budgets: tc.destination}}}
		w.State = w.State.Clone()
		if acts := w.ControlBudgets(plan.SourceSide); acts != tc.acts {
			t.Errorf("%s: it says that it acts: %t", name, acts)
		}
		if diff := cmp.Diff([][]plan.Budget{tc.wantSource, tc.wantDestination}, [][]plan.Budget{w.State.Source.Budgets, w.State.Destination.Budgets}); diff != "" {
			t.Errorf("%s: -want +got\n%s", name, diff)
		}
	}
}
