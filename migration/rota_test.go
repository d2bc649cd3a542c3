package migration

import (
	"strconv"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
)

func requestOf(namespace, name string) types.NamespacedName {
	return types.NamespacedName{Namespace: namespace, Name: name}
}

// TestTurns: no namespace holds more workers than it may, none is kept waiting for another one,
// and who waits has its turn in the end (S4).
func TestTurns(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		most := rapid.IntRange(1, 3).Draw(t, "most")
		namespaces := []string{"a", "b", "c"}
		turns := newRota(most)
		busy, queue, waiting := map[types.NamespacedName]bool{}, map[types.NamespacedName]bool{}, map[types.NamespacedName]bool{}
		held := func(namespace string) (n int) {
			for request := range busy {
				if request.Namespace == namespace {
					n++
				}
			}
			return n
		}
		begin := func(request types.NamespacedName) {
			before := held(request.Namespace)
			began := turns.begin(request, rapid.IntRange(urgencyNone, urgencyDown).Draw(t, "urgency"))
			if began != (before < most) {
				t.Fatalf("%s began: %t, with %d of %d at work", request, began, before, most)
			}
			delete(queue, request)
			busy[request], waiting[request] = began, !began
			if !began {
				delete(busy, request)
			} else {
				delete(waiting, request)
			}
		}
		end := func(request types.NamespacedName) {
			delete(busy, request)
			if next, found := turns.end(request); found {
				if next.request.Namespace != request.Namespace || !waiting[next.request] {
					t.Fatalf("%s was not waiting for %s", next.request, request)
				}
				delete(waiting, next.request)
				queue[next.request] = true
			}
		}
		for range rapid.IntRange(1, 100).Draw(t, "steps") {
			request := requestOf(rapid.SampledFrom(namespaces).Draw(t, "namespace"), strconv.Itoa(rapid.IntRange(0, 5).Draw(t, "name")))
			if busy[request] {
				end(request)
			} else {
				begin(request)
			}
		}
		for range 1000 {
			for request := range queue {
				begin(request)
			}
			for request := range busy {
				end(request)
			}
		}
		if len(busy)+len(queue)+len(waiting)+len(turns.busy)+len(turns.parked)+len(turns.arrived) > 0 {
			t.Fatalf("left over: %v at work, %v queued, %v waiting: %+v", busy, queue, waiting, turns)
		}
	})
}

// TestTurnsOrder: whose ordinal is down goes first, and then who has waited longest, also when
// its turn was taken by another one that came meanwhile (S4).
func TestTurnsOrder(t *testing.T) {
	turns := newRota(1)
	at := func(name string) types.NamespacedName { return requestOf("shop", name) }
	turns.begin(at("slow"), urgencyNone)
	for _, name := range []string{"a", "b"} {
		turns.begin(at(name), urgencyNone)
	}
	turns.begin(at("down"), urgencyDown)
	last := at("slow")
	for _, want := range []string{"down", "a"} {
		next, found := turns.end(last)
		if !found || next.request.Name != want || (next.urgency == urgencyDown) != (want == "down") {
			t.Fatalf("next is %+v, want %s", next, want)
		}
		last = next.request
		if want == "a" {
			break
		}
		turns.begin(last, urgencyDown)
	}
	turns.begin(at("late"), urgencyNone)
	turns.begin(at("a"), urgencyNone) // it has to wait once more
	if next, _ := turns.end(at("late")); next.request.Name != "a" {
		t.Errorf("next is %+v, want a", next)
	}
}

// TestTurnsOfAtLeastOne: a namespace has at least one worker, whatever it is given.
func TestTurnsOfAtLeastOne(t *testing.T) {
	for most, want := range map[int]int{-1: 1, 0: 1, 1: 1, 2: 2} {
		turns, begun := newRota(most), 0
		for i := range 5 {
			if turns.begin(requestOf("shop", strconv.Itoa(i)), urgencyNone) {
				begun++
			}
		}
		if begun != want {
			t.Errorf("with %d, %d have begun", most, begun)
		}
	}
}

// TestTurnsAreInOrder: one whose ordinal is down is before each one whose is not, one that has begun
// before one that has not, and else who came first (S4).
func TestTurnsAreInOrder(t *testing.T) {
	turns := newRota(1)
	first, then := requestOf("shop", "first"), requestOf("shop", "then")
	turns.arrived[first], turns.arrived[then] = 1, 2
	order := []parked{
		{first, urgencyDown}, {then, urgencyDown}, {first, urgencyBegun}, {then, urgencyBegun}, {first, urgencyNone}, {then, urgencyNone},
	}
	for i, a := range order {
		for k, b := range order {
			if got := turns.order(a, b); got < 0 != (i < k) || got > 0 != (i > k) {
				t.Errorf("%+v and %+v: %d", a, b, got)
			}
		}
	}
}

// TestPriority: one that waits in line, or has not said anything yet, is looked at beside those whose
// ordinals are down; what it waits for does not make it more urgent.
func TestPriority(t *testing.T) {
	says := func(reason string) []metav1.Condition {
		return []metav1.Condition{{Type: api.ConditionProgressing, Reason: reason}}
	}
	for name, tc := range map[string]struct {
		status api.MigrationStatus
		want   int
	}{
		"new":             {api.MigrationStatus{}, urgencyDown},
		"in line":         {api.MigrationStatus{Conditions: says(api.ReasonQueued)}, urgencyDown},
		"refused":         {api.MigrationStatus{Conditions: says(api.ReasonSourceNotHealthy)}, urgencyNone},
		"begun":           {api.MigrationStatus{Baseline: &api.Baseline{}, Conditions: says(api.ReasonMoving)}, urgencyBegun},
		"an ordinal down": {api.MigrationStatus{Baseline: &api.Baseline{}, Handoff: &api.Handoff{}}, urgencyDown},
	} {
		if got := priority(&api.Migration{Status: tc.status}); got != tc.want {
			t.Errorf("%s: %d, want %d", name, got, tc.want)
		}
	}
}
