package engine

import (
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/types"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/berths"
	"github.com/sliceshift/sliceshift/migration/queue"
)

func named(name string) types.NamespacedName {
	return types.NamespacedName{Namespace: "shop", Name: name}
}

// onNode returns the berth of a handoff from a node.
func onNode(name, node string) berths.Berth {
	return berths.Berth{Migration: named(name), HandoffLoad: api.HandoffLoad{Node: node}}
}

// TestLedger: of two migrations that want the last place, one gets it. Taking another place returns the former
// one, and a waiting migration is called when a place is free.
func TestLedger(t *testing.T) {
	l := newLedger(berths.Limits{Node: 1})
	if !l.take(onNode("a", "n1")) || l.take(onNode("b", "n1")) || !l.take(onNode("b", "n2")) {
		t.Error("one place was given twice, or none")
	}
	if !l.take(onNode("a", "n3")) || !l.take(onNode("c", "n1")) {
		t.Error("a place was not given back")
	}
	if others := l.load(named("a")).Others; len(others) != 2 {
		t.Errorf("others use %+v", others)
	}
	l.note(onNode("d", "n1")) // it had begun before the limit was set
	if l.take(onNode("e", "n1")) {
		t.Error("there are two already")
	}
	l.wait(named("e"))
	if called := l.leave(named("f")); called != nil {
		t.Errorf("it had nothing: %v", called)
	}
	if called := l.leave(named("c")); !slices.Equal(called, []types.NamespacedName{named("e")}) {
		t.Errorf("called were %v", called)
	}
	if called := l.leave(named("d")); called != nil || !l.take(onNode("e", "n1")) {
		t.Errorf("it was called once: %v", called)
	}
}

// TestLedgerOfABlock: the handoffs of one migration count one by one.
func TestLedgerOfABlock(t *testing.T) {
	l := newLedger(berths.Limits{Node: 2})
	first, second := onNode("a", "n1"), onNode("a", "n1")
	if !l.take(first) || !l.take(second, first) || l.take(onNode("a", "n1"), first, second) {
		t.Error("a migration has more places than there are, or fewer")
	}
	if l.take(onNode("b", "n1")) {
		t.Error("another one got a place beside them")
	}
	l.note(second)
	if !l.take(onNode("b", "n1")) {
		t.Error("one has left")
	}
}

// TestNoLedger: a ledger without limits bounds nothing.
func TestNoLedger(t *testing.T) {
	l := newLedger(berths.Limits{})
	l.note(onNode("a", "n1"))
	l.wait(named("a"))
	if l != nil || !l.take(onNode("b", "n1")) || l.load(named("b")) != nil || l.leave(named("a")) != nil {
		t.Error("something is bounded")
	}
}

// TestHandoffsAreCounted: a manager that starts counts the current handoffs before any other begins. Ended ones
// do not count, unless their end is unknown.
func TestHandoffsAreCounted(t *testing.T) {
	under := func(m *api.Migration) {
		m.Status.Baseline = &api.Baseline{SourceCluster: "east", DestinationCluster: "west"}
		m.Status.Handoff = &api.Handoff{Load: &api.HandoffLoad{Cluster: "east", Node: "n1"}}
	}
	other := west("other", 1, under)
	d := newDesk(t, other)
	d.line, d.ledger = queue.NewLine(0, 0), newLedger(berths.Limits{Node: 1})
	if err := d.seed(t.Context()); err != nil {
		t.Fatal(err)
	}
	mine := traffic{d.Reconciler, named("mine")}
	berth := berths.Berth{Migration: named("mine"), HandoffLoad: api.HandoffLoad{Cluster: "east", Node: "n1"}}
	if mine.Take(berth) || len(mine.Load().Others) != 1 {
		t.Error("what has begun before the manager does not count")
	}
	other.Status.Handoff = nil
	if d.book(other, true); mine.Take(berth) {
		t.Error("nobody knows whether it has ended")
	}
	if d.book(other, false); !mine.Take(berth) {
		t.Error("it has ended")
	}
	if d.leave(named("mine")); len(d.ledger.berths) > 0 {
		t.Errorf("it is gone, and has %+v", d.ledger.berths)
	}
}

// TestH11WhoOnlyWaitsTakesNoPlace: a recorded handoff that only waits takes no place until it continues.
func TestH11WhoOnlyWaitsTakesNoPlace(t *testing.T) {
	waiting := west("waiting", 1, func(m *api.Migration) {
		m.Status.Baseline = &api.Baseline{SourceCluster: "east", DestinationCluster: "west"}
		m.Status.Handoff = &api.Handoff{Load: &api.HandoffLoad{Cluster: "east", Node: "n1"}}
	})
	d := newDesk(t, waiting)
	d.line, d.ledger = queue.NewLine(0, 0), newLedger(berths.Limits{Node: 1, Link: 1})
	key := named("waiting")
	d.engines[key] = &driven{uid: waiting.UID, waits: true}
	mine := traffic{d.Reconciler, named("mine")}
	berth := berths.Berth{Migration: named("mine"), HandoffLoad: api.HandoffLoad{Cluster: "east", Node: "n1"}}
	if d.book(waiting, false); !mine.Take(berth) {
		t.Error("who only waits has a place")
	}
	if (traffic{d.Reconciler, key}).Take(berths.Berth{Migration: key, HandoffLoad: api.HandoffLoad{Cluster: "east", Node: "n1"}}) {
		t.Error("it goes on though its place is taken")
	}
	d.leave(named("mine"))
	d.engines[key].waits = false
	if d.book(waiting, false); mine.Take(berth) {
		t.Error("it goes on, and its place is not its own")
	}
	if standsAside(waiting, false) || !standsAside(waiting, true) {
		t.Error("who only waits holds up the line")
	}
}
