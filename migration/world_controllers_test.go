package migration

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// podsUp are pods that are Ready.
func podsUp(ordinals ...int32) []Pod {
	pods := make([]Pod, 0, len(ordinals))
	for _, k := range ordinals {
		pods = append(pods, Pod{Ordinal: k, Ready: true})
	}
	return pods
}

// withPod is a copy of pods of which one was changed.
func withPod(pods []Pod, at int, change func(*Pod)) []Pod {
	pods = slices.Clone(pods)
	change(&pods[at])
	return pods
}

func startsUp(p *Pod)    { p.Ready = false }
func goesDown(p *Pod)    { p.Terminating = true }
func goesUnready(p *Pod) { p.Ready, p.Terminating = false, true }

// TestWorldControlSet: the controller of a set makes the lowest ordinal that is missing, and then ends the
// highest one that is outside of its range, one at a time. In order it waits for each one that is not
// Ready, and for each one that ends.
func TestWorldControlSet(t *testing.T) {
	for name, tc := range map[string]struct {
		pods    []Pod
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
			w := &world{acted: map[SideName]acted{SourceSide: {start: 1, replicas: 3}}}
			w.state.Source = Side{Set: Set{Presence: Seen, Ordered: tc.ordered}, Pods: slices.Clone(tc.pods)}
			if acts := w.controlSet(SourceSide); acts != (tc.want != "") {
				t.Errorf("it says that it acts: %t", acts)
			}
			if got := podsDid(tc.pods, w.state.Source.Pods); got != tc.want {
				t.Errorf("it does %q, want %q", got, tc.want)
			}
		})
	}
	w := &world{acted: map[SideName]acted{SourceSide: {start: 1, replicas: 3}}}
	if w.state.Source.Set.Presence = Absent; w.controlSet(SourceSide) || len(w.state.Source.Pods) > 0 {
		t.Errorf("a set that is not there has made %+v", w.state.Source.Pods)
	}
}

// podsDid is what has become of pods: the one that was made, or the one that ends.
func podsDid(before, after []Pod) string {
	was, done := Side{Pods: before}, []string{}
	for _, pod := range after {
		old, found := was.pod(pod.Ordinal)
		switch {
		case !found:
			done = append(done, fmt.Sprintf("make %d", pod.Ordinal))
		case pod.Terminating != old.Terminating:
			done = append(done, fmt.Sprintf("end %d", pod.Ordinal))
		}
	}
	return strings.Join(done, ", ")
}

// TestWorldLearn: a controller comes to know of a new range, and of a share that is another one than it
// keeps to; a roll-out is one when a pod is of an older revision, or was asked to go.
func TestWorldLearn(t *testing.T) {
	set := Set{Presence: Seen, Start: 2, Replicas: 3, RolledOut: true, Rolls: Rolls{Own: true, Shared: true, Share: 1}}
	one := share{of: true, most: 1}
	knows, known := acted{start: 7, replicas: 9, keeps: one, told: share{most: 5}}, acted{start: 2, replicas: 3, keeps: one, told: share{most: 5}}
	rolls := known
	rolls.rolls = true
	for name, tc := range map[string]struct {
		change func(*Set)
		keeps  share
		want   acted
	}{
		"a new range":                    {func(*Set) {}, one, known},
		"nothing is new":                 {func(s *Set) { s.Observed = true }, one, knows},
		"a new share":                    {func(s *Set) { s.Observed = true }, share{}, known},
		"both":                           {func(*Set) {}, share{}, known},
		"it is absent":                   {func(s *Set) { s.Presence = Absent }, one, knows},
		"it rolls out":                   {func(s *Set) { s.RolledOut = false }, one, rolls},
		"it was asked for a pod":         {func(s *Set) { s.Rolls.Asked = true }, one, rolls},
		"it rolls out and was asked for": {func(s *Set) { s.RolledOut, s.Rolls.Asked = false, true }, one, rolls},
	} {
		t.Run(name, func(t *testing.T) {
			before, now := knows, set
			before.keeps = tc.keeps
			tc.change(&now)
			w := &world{state: Snapshot{Source: Side{Set: now}}, acted: map[SideName]acted{SourceSide: before}}
			anew, want := tc.want != knows, now
			want.Observed = now.Observed || anew
			if learns := w.learn(SourceSide); learns != anew {
				t.Errorf("it says that it learns something: %t", learns)
			}
			if got := w.acted[SourceSide]; got != tc.want {
				t.Errorf("it acts on %+v, want %+v", got, tc.want)
			}
			if diff := cmp.Diff(want, w.state.Source.Set); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
		})
	}
}

// TestWorldConfirm: what a roll-out keeps to is told after it has been learnt, and once; only our own kind
// tells it, and a share is heeded when the very same one is told.
func TestWorldConfirm(t *testing.T) {
	one, two := share{of: true, most: 1}, share{of: true, most: 2}
	set := Set{Presence: Seen, Rolls: Rolls{Own: true, Shared: true, Share: 1}}
	for name, tc := range map[string]struct {
		change       func(*Set)
		keeps, told  share
		acts, heeded bool
	}{
		"it is told":                {func(*Set) {}, one, share{}, true, true},
		"it was told":               {func(*Set) {}, one, one, false, false},
		"the set is absent":         {func(s *Set) { s.Presence = Absent }, one, share{}, false, false},
		"another one is kept to":    {func(*Set) {}, two, one, true, false},
		"none is kept to":           {func(*Set) {}, share{}, one, true, false},
		"there is none any more":    {func(s *Set) { s.Rolls.Shared, s.Rolls.Share = false, 0 }, share{}, one, true, true},
		"another kind tells no one": {func(s *Set) { s.Rolls.Own = false }, one, share{}, true, false},
	} {
		w := &world{state: Snapshot{Source: Side{Set: set}}, acted: map[SideName]acted{SourceSide: {start: 4, keeps: tc.keeps, told: tc.told}}}
		tc.change(&w.state.Source.Set)
		if acts := w.confirm(SourceSide); acts != tc.acts {
			t.Errorf("%s: it says that it acts: %t", name, acts)
		}
		want := acted{start: 4, keeps: tc.keeps, told: tc.told}
		if tc.acts {
			want.told = tc.keeps
		}
		if got := w.acted[SourceSide]; got != want || w.state.Source.Set.Rolls.Heeded != tc.heeded {
			t.Errorf("%s: it has told %+v, heeded %t", name, got, w.state.Source.Set.Rolls.Heeded)
		}
	}
}

// TestWorldControlBudgets: the disruption controller of a side observes its one budget; in one namespace
// that is the other side's as well.
func TestWorldControlBudgets(t *testing.T) {
	seen, not := Budget{Observed: true}, Budget{}
	for name, tc := range map[string]struct {
		source, destination         []Budget
		same                        bool
		acts                        bool
		wantSource, wantDestination []Budget
	}{
		"none":                {nil, nil, false, false, nil, nil},
		"observed already":    {[]Budget{seen}, []Budget{not}, false, false, []Budget{seen}, []Budget{not}},
		"one":                 {[]Budget{not}, []Budget{not}, false, true, []Budget{seen}, []Budget{not}},
		"one of one side":     {[]Budget{not}, nil, false, true, []Budget{seen}, nil},
		"one of both":         {[]Budget{not}, []Budget{not}, true, true, []Budget{seen}, []Budget{seen}},
		"nobody knows of two": {[]Budget{not, not}, nil, false, false, []Budget{not, not}, nil},
	} {
		w := &world{state: Snapshot{Spec: Spec{SameNamespace: tc.same}, Source: Side{Budgets: tc.source}, Destination: Side{Budgets: tc.destination}}}
		w.state = w.state.clone()
		if acts := w.controlBudgets(SourceSide); acts != tc.acts {
			t.Errorf("%s: it says that it acts: %t", name, acts)
		}
		if diff := cmp.Diff([][]Budget{tc.wantSource, tc.wantDestination}, [][]Budget{w.state.Source.Budgets, w.state.Destination.Budgets}); diff != "" {
			t.Errorf("%s: -want +got\n%s", name, diff)
		}
	}
}
