package queue

import (
	"strconv"
	"testing"

	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"
)

// Urgencies in ascending order.
const (
	low = iota
	middle
	high
)

func requestOf(namespace, name string) types.NamespacedName {
	return types.NamespacedName{Namespace: namespace, Name: name}
}

// TestTurns: no namespace holds more workers than it may, none waits for another one, and each waiting request
// gets its turn (S4).
func TestTurns(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		most := rapid.IntRange(1, 3).Draw(t, "most")
		namespaces := []string{"a", "b", "c"}
		turns := NewRota(most)
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
			began := turns.Begin(request, rapid.IntRange(low, high).Draw(t, "urgency"))
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
			if next, _, found := turns.End(request); found {
				if next.Namespace != request.Namespace || !waiting[next] {
					t.Fatalf("%s was not waiting for %s", next, request)
				}
				delete(waiting, next)
				queue[next] = true
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

// TestTurnsOrder: a Migration whose ordinal is down is first, and then the one that has waited longest, even if a
// later one took its turn in the meantime (S4).
func TestTurnsOrder(t *testing.T) {
	turns := NewRota(1)
	at := func(name string) types.NamespacedName { return requestOf("shop", name) }
	turns.Begin(at("slow"), low)
	for _, name := range []string{"a", "b"} {
		turns.Begin(at(name), low)
	}
	turns.Begin(at("down"), high)
	last := at("slow")
	for _, want := range []string{"down", "a"} {
		next, urgency, found := turns.End(last)
		if !found || next.Name != want || (urgency == high) != (want == "down") {
			t.Fatalf("next is %s with urgency %d, want %s", next, urgency, want)
		}
		last = next
		if want == "a" {
			break
		}
		turns.Begin(last, high)
	}
	turns.Begin(at("late"), low)
	turns.Begin(at("a"), low) // it has to wait once more
	if next, _, _ := turns.End(at("late")); next.Name != "a" {
		t.Errorf("next is %s, want a", next)
	}
}

// TestTurnsOfAtLeastOne: a namespace has at least one worker, whatever the setting.
func TestTurnsOfAtLeastOne(t *testing.T) {
	for most, want := range map[int]int{-1: 1, 0: 1, 1: 1, 2: 2} {
		turns, begun := NewRota(most), 0
		for i := range 5 {
			if turns.Begin(requestOf("shop", strconv.Itoa(i)), low) {
				begun++
			}
		}
		if begun != want {
			t.Errorf("with %d, %d have begun", most, begun)
		}
	}
}

// TestTurnsAreInOrder: a Migration whose ordinal is down precedes the others, one that has begun precedes one that
// has not, and otherwise the first to arrive is first (S4).
func TestTurnsAreInOrder(t *testing.T) {
	turns := NewRota(1)
	first, then := requestOf("shop", "first"), requestOf("shop", "then")
	turns.arrived[first], turns.arrived[then] = 1, 2
	order := []parked{
		{first, high}, {then, high}, {first, middle}, {then, middle}, {first, low}, {then, low},
	}
	for i, a := range order {
		for k, b := range order {
			if got := turns.order(a, b); got < 0 != (i < k) || got > 0 != (i > k) {
				t.Errorf("%+v and %+v: %d", a, b, got)
			}
		}
	}
}
