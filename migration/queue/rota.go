package queue

import (
	"cmp"
	"slices"

	"k8s.io/apimachinery/pkg/types"
)

// Rota bounds how many Migrations of one namespace are reconciled at once. A Migration whose clusters answer
// slowly, or not at all, occupies a worker for that time, and all namespaces share the workers. A Rota is not safe
// for concurrent use.
type Rota struct {
	// most is the bound.
	most int
	// busy maps namespaces to the number of Migrations being reconciled.
	busy map[string]int
	// parked maps namespaces to the waiting requests.
	parked map[string][]parked
	// arrivals counts the requests that had to wait, so that they keep their order.
	arrivals int
	arrived  map[types.NamespacedName]int
}

// parked is a request that waits.
type parked struct {
	request types.NamespacedName
	// urgency is its priority.
	urgency int
}

// NewRota returns an empty Rota. At least one Migration of each namespace may be reconciled.
func NewRota(most int) *Rota {
	return &Rota{most: max(1, most), busy: map[string]int{}, parked: map[string][]parked{}, arrived: map[types.NamespacedName]int{}}
}

// Begin reports whether a request may be reconciled now. If not, End returns it later.
func (t *Rota) Begin(request types.NamespacedName, urgency int) bool {
	t.unpark(request)
	if t.busy[request.Namespace] < t.most {
		t.busy[request.Namespace]++
		delete(t.arrived, request)
		return true
	}
	if _, known := t.arrived[request]; !known {
		t.arrivals++
		t.arrived[request] = t.arrivals
	}
	t.parked[request.Namespace] = append(t.parked[request.Namespace], parked{request, urgency})
	return false
}

// End registers that a request was reconciled. next is the request to reconcile next, with its urgency: the most
// urgent one, and among equals the one that has waited longest.
func (t *Rota) End(request types.NamespacedName) (next types.NamespacedName, urgency int, found bool) {
	namespace := request.Namespace
	if t.busy[namespace]--; t.busy[namespace] <= 0 {
		delete(t.busy, namespace)
	}
	waiting := t.parked[namespace]
	if len(waiting) == 0 {
		return types.NamespacedName{}, 0, false
	}
	first := slices.MinFunc(waiting, t.order)
	t.unpark(first.request)
	return first.request, first.urgency, true
}

func (t *Rota) order(a, b parked) int {
	return cmp.Or(b.urgency-a.urgency, t.arrived[a.request]-t.arrived[b.request])
}

func (t *Rota) unpark(request types.NamespacedName) {
	waiting := slices.DeleteFunc(t.parked[request.Namespace], func(p parked) bool { return p.request == request })
	if len(waiting) == 0 {
		delete(t.parked, request.Namespace)
		return
	}
	t.parked[request.Namespace] = waiting
}
