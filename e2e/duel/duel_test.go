package duel

import (
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
)

// TestDraw: a seed gives the same script each time, and every kind of step is known.
func TestDraw(t *testing.T) {
	for seed := range 20 {
		if diff := cmp.Diff(Draw(seed), Draw(seed)); diff != "" {
			t.Fatalf("seed %d: %s", seed, diff)
		}
	}
	if Draw(1).String() == Draw(2).String() {
		t.Error("two seeds are the same script")
	}
}

// TestEdits: each edit changes the wish, and both sides get the same request.
func TestEdits(t *testing.T) {
	edits := 0
	for _, kind := range slices.Compact(slices.Sorted(slices.Values(kinds))) {
		w := newWish("web", Settings{Replicas: 3, Claims: 1})
		w.newImage("")
		w.former = append(w.former, newWish("web", Settings{}).Template)
		before := w.DeepCopy()
		changes := Step{Kind: kind, A: 2, B: 4}.edit(w)
		if len(changes) == 0 {
			continue
		}
		edits++
		if changes[0](); cmp.Equal(before, w.DeepCopy()) {
			t.Errorf("%s changes nothing", kind)
		}
	}
	if edits != 15 {
		t.Errorf("%d kinds of steps are edits", edits)
	}
}

// TestPartition: the partition is a count from the start in apps/v1, and an ordinal in our kind.
func TestPartition(t *testing.T) {
	for _, row := range []struct{ start, replicas, partition, want int32 }{{0, 3, 0, 0}, {0, 3, 2, 2}, {5, 3, 0, 0}, {5, 3, 2, 7}, {5, 3, 9, 8}, {5, 0, 2, 5}} {
		w := newWish("web", Settings{Start: row.start, Replicas: row.replicas})
		w.UpdateStrategy = rolling(row.partition, nil)
		set, err := w.ours("ns")
		if err != nil {
			t.Fatal(err)
		}
		if got := *set.Spec.UpdateStrategy.RollingUpdate.Partition; got != row.want || *w.native("ns").Spec.UpdateStrategy.RollingUpdate.Partition != row.partition {
			t.Errorf("%+v: ours is %d", row, got)
		}
	}
}

// TestCompareEvents: the order counts in OrderedReady, except for concurrent deletions.
func TestCompareEvents(t *testing.T) {
	one, two := event{deleted, 1, ""}, event{deleted, 2, ""}
	made := []event{{created, 1, "web:2"}, {created, 2, "web:2"}}
	for name, row := range map[string]struct {
		parallel     bool
		most         string
		native, ours []event
		want         int
	}{
		"equal":                         {false, "1", []event{two, one}, []event{two, one}, 0},
		"another order":                 {false, "1", []event{two, one}, []event{one, two}, 1},
		"at the same time":              {false, "50%", []event{two, one}, []event{one, two}, 0},
		"made in another order":         {false, "50%", made, []event{made[1], made[0]}, 1},
		"Parallel":                      {true, "1", made, []event{made[1], made[0]}, 0},
		"another revision":              {true, "1", made[:1], []event{{created, 1, "web:3"}}, 1},
		"one that never happens":        {true, "1", made, made[:1], 1},
		"one that happens to ours only": {true, "1", nil, made, 2},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWish("web", Settings{Parallel: row.parallel, Replicas: 4})
			w.UpdateStrategy = rolling(0, Step{A: 2}.mostUnavailable())
			if row.most == "1" {
				w.UpdateStrategy = rolling(0, nil)
			}
			if got := compareEvents(w, row.native, row.ours); len(got) != row.want {
				t.Errorf("%v", got)
			}
		})
	}
}

// TestUnexplained: a difference of status counts follows from pods, so it cannot be the only one.
func TestUnexplained(t *testing.T) {
	m := &moment{wish: newWish("web", Settings{Replicas: 2}), found: []difference{{"status.replicas", "1", "2"}}}
	if used, unexplained := explain(m); len(used) > 0 || len(unexplained) != 1 {
		t.Errorf("used %v, unexplained %v", used, unexplained)
	}
	m.native = state{pods: map[int32]podState{1: {ended: true}}}
	m.found = append(m.found, difference{"pod web-1", "Failed", "none"}, difference{"pod web-0", "none", "Running"})
	if used, unexplained := explain(m); len(used) != 1 || len(unexplained) != 1 || unexplained[0].about != "pod web-0" {
		t.Errorf("used %v, unexplained %v", used, unexplained)
	}
}

// TestCarried: an explained difference remains explained in later steps while neither side acts on it.
func TestCarried(t *testing.T) {
	lines := func(line string) state { return state{lines: map[string]string{"pod web-0": line}} }
	const one, two = "web:1 runs web:1, Running", "web:2 runs web:2, Running"
	for name, row := range map[string]struct {
		settled       bool
		before, after [2]string
		carried       bool
	}{
		"it is as it was":             {true, [2]string{one, two}, [2]string{one, two}, true},
		"a step changes both":         {true, [2]string{one, two}, [2]string{"web:1 runs web:1, Failed", "web:2 runs web:2, Failed"}, true},
		"a step changes one":          {true, [2]string{one, two}, [2]string{one, "web:2 runs web:2, Failed"}, false},
		"one side goes on":            {true, [2]string{one, two}, [2]string{"web:3 runs web:3, Running", two}, false},
		"one side loses it":           {true, [2]string{one, two}, [2]string{one, none}, false},
		"there was none":              {true, [2]string{one, one}, [2]string{one, two}, false},
		"the script waits for nobody": {false, [2]string{one, two}, [2]string{one, two}, false},
	} {
		t.Run(name, func(t *testing.T) {
			m := &moment{settled: row.settled, before: [2]state{lines(row.before[0]), lines(row.before[1])}}
			if got := m.carried(difference{"pod web-0", row.after[0], row.after[1]}); got != row.carried {
				t.Errorf("carried: %t", got)
			}
		})
	}
}

// beyondScripts are the intended differences that no script meets: scripts have few pods, and set the fields of apps/v1 only.
var beyondScripts = []string{
	"at most 500 pods are created at a time", "a roll-out can keep a PodDisruptionBudget", "a roll-out can go zone by zone",
}

// TestDocumented: the table of the documentation lists every intended difference with the versions of Kubernetes that have
// it, and no other.
func TestDocumented(t *testing.T) {
	page, err := os.ReadFile("../../docs/slices.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(page), "\n## Beside the native controller\n")
	section, _, _ = strings.Cut(section, "\n## ")
	var rows []string
	for line := range strings.Lines(section) {
		if cells := strings.Split(line, "|"); len(cells) > 5 && !strings.Contains(cells[1], "--") && strings.TrimSpace(cells[1]) != "difference" {
			rows = append(rows, strings.TrimSpace(cells[1])+", "+strings.TrimSpace(cells[4]))
		}
	}
	var want []string
	for _, id := range append(beyondScripts, explainedBroken, explainedBackoff, explainedLeaving) {
		want = append(want, id+", all")
	}
	for _, one := range explanations {
		want = append(want, one.id+", "+one.in.String())
	}
	slices.Sort(want)
	slices.Sort(rows)
	if diff := cmp.Diff(want, rows); diff != "" {
		t.Errorf("the table in docs/slices.md (-explained +documented):\n%s", diff)
	}
}

// TestY13ExplainedByVersion: a difference that a later version of Kubernetes has corrected is not explained there.
func TestY13ExplainedByVersion(t *testing.T) {
	w := newWish("web", Settings{Replicas: 2})
	w.UpdateStrategy = appsv1.StatefulSetUpdateStrategy{Type: appsv1.OnDeleteStatefulSetStrategyType}
	m := &moment{wish: w, found: []difference{{"status.currentRevision", "web:1", "web:2"}}}
	m.ours.status = appsv1.StatefulSetStatus{Replicas: 2, ReadyReplicas: 2, UpdatedReplicas: 2}
	for minor, want := range map[uint]int{34: 0, 36: 0, 37: 1, 38: 1} {
		m.minor = minor
		if _, unexplained := explain(m); len(unexplained) != want {
			t.Errorf("1.%d: unexplained %v", minor, unexplained)
		}
	}
	for minor, want := range map[uint]bool{34: true, 36: true, 37: false} {
		if got := slices.Contains(explanationIDs(minor), "OnDelete gets complete"); got != want {
			t.Errorf("1.%d expects that OnDelete does not get complete: %t", minor, got)
		}
		if got := slices.Contains(explanationIDs(minor), "pods that lose Ready count in the budget"); got == want {
			t.Errorf("1.%d expects that Parallel replaces pods that lose Ready: %t", minor, got)
		}
	}
}

// TestY13LostReady: from Kubernetes 1.37 on, Parallel replaces pods that are not Ready, however many they are. Ours does not
// while more of them are down than the budget allows.
func TestY13LostReady(t *testing.T) {
	pods := func(updated bool, ready ...bool) state {
		s := state{pods: map[int32]podState{}}
		for ordinal, is := range ready {
			s.pods[int32(ordinal)] = podState{updated: updated, ready: is}
		}
		return s
	}
	for name, row := range map[string]struct {
		minor    uint
		parallel bool
		ours     state
		want     int
	}{
		"two of four are down":     {37, true, pods(false, false, false, true, true), 0},
		"one is down":              {37, true, pods(false, false, true, true, true), 1},
		"OrderedReady":             {37, false, pods(false, false, false, true, true), 1},
		"before":                   {36, true, pods(false, false, false, true, true), 1},
		"ours has updated it, too": {37, true, pods(true, false, false, true, true), 1},
	} {
		m := &moment{wish: newWish("web", Settings{Replicas: 4, Parallel: row.parallel}), minor: row.minor, native: pods(true, true, true, true, true), ours: row.ours}
		m.found = []difference{{"pod web-1", "web:2, Running", "web:1, Running"}}
		if _, unexplained := explain(m); len(unexplained) != row.want {
			t.Errorf("%s: unexplained %v", name, unexplained)
		}
	}
}

// TestMakesRoom: in OrderedReady, while new pods are refused, ours deletes pods outside of the range, and the native side
// waits for the new ones. The claim of such a pod goes with it, if whenScaled says so. Nothing else explains what is missing.
func TestMakesRoom(t *testing.T) {
	pods := func(ordinals ...int32) state {
		s := state{pods: map[int32]podState{}}
		for _, ordinal := range ordinals {
			s.pods[ordinal] = podState{ready: true}
		}
		return s
	}
	for name, row := range map[string]struct {
		refused bool
		native  state
		about   string
		want    int
		deletes bool
	}{
		"a pod below the range":   {refused: true, native: pods(0, 1, 2, 3), about: "pod web-1"},
		"nothing is refused":      {native: pods(0, 1, 2, 3), about: "pod web-1", want: 1},
		"a pod of the range":      {refused: true, native: pods(0, 1, 2, 3), about: "pod web-3", want: 1},
		"no pod is missing":       {refused: true, native: pods(0, 1, 2, 3, 4, 5), about: "pod web-1", want: 1},
		"native has deleted it":   {refused: true, native: pods(0, 2, 3), about: "pod web-1", want: 1},
		"a claim below the range": {refused: true, native: pods(0, 1, 2, 3), about: "claim data-web-1", want: 1},
		"a claim that goes":       {refused: true, native: pods(0, 1, 2, 3), about: "claim data-web-1", deletes: true},
		"a claim of the range":    {refused: true, native: pods(0, 1, 2, 3), about: "claim data-web-3", want: 1, deletes: true},
	} {
		m := &moment{wish: newWish("web", Settings{Replicas: 4, Start: 2}), refused: row.refused, native: row.native, ours: pods(0, 2)}
		if row.deletes {
			m.wish.PersistentVolumeClaimRetentionPolicy = &appsv1.StatefulSetPersistentVolumeClaimRetentionPolicy{WhenScaled: appsv1.DeletePersistentVolumeClaimRetentionPolicyType}
		}
		m.found = []difference{{row.about, "web:1, Running", none}}
		if _, unexplained := explain(m); len(unexplained) != row.want {
			t.Errorf("%s: unexplained %v", name, unexplained)
		}
	}
}

// TestReport: the report lists an explanation that was not used.
func TestReport(t *testing.T) {
	r := Report{Kubernetes: "1.36.3", Scripts: 2, Took: time.Minute, Kinds: map[string]int{stepImage: 3}, Explained: map[string]int{explainedBroken: 1}}
	if text := r.Table(); !strings.Contains(text, "never seen: "+explainedBackoff) {
		t.Error(text)
	}
	if text := r.Page(7); !strings.Contains(text, "Beside Kubernetes 1.36.3: 2 scripts in 1m0s, from seed 7 on") || !strings.Contains(text, "| "+explainedBroken+" | 1 |") {
		t.Error(text)
	}
}
