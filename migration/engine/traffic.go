package engine

import (
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/berths"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/migration/planner"
)

// Traffic holds the limits that the handoffs of all migrations share.
type Traffic interface {
	// Load returns the use by all other migrations; nil means no limits.
	Load() *berths.Load
	// Take is called before a handoff is recorded. It returns false if a limit is reached.
	Take(berths.Berth) bool
}

// traffic is the Traffic of one Migration of a Reconciler.
type traffic struct {
	*Reconciler
	who types.NamespacedName
}

func (t traffic) Load() *berths.Load {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.ledger.load(t.who)
}

func (t traffic) Take(b berths.Berth) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.ledger.take(b)
}

// load returns the use by the handoffs of other migrations.
func (e *Engine) load() *berths.Load {
	if e.traffic == nil {
		return nil
	}
	return e.traffic.Load()
}

// begins reports whether the shared limits permit a record: two migrations that look at the same time may both
// find room for one more handoff. The way back is never held.
func (e *Engine) begins(step planner.Step) bool {
	before, after := step.Snapshot.Record.Handoff, step.Decision.Record.Handoff
	if e.traffic == nil || after == nil || before != nil && before.Ordinal == after.Ordinal {
		return true
	}
	berth, begun := berths.Of(step.Snapshot.Migration, step.Decision.Record.Baseline, step.Decision.Record.Handoff)
	return !begun || e.traffic.Take(berth) || step.Decision.Record.Fence != nil && step.Decision.Record.Fence.Direction == api.Back
}

// hasPlace reports whether the shared limits permit a write: a migration that only waited has released its
// place.
func (e *Engine) hasPlace(step planner.Step) bool {
	if e.traffic == nil || !planner.TakesPlace(step.Snapshot, *step.Decision.Effect) {
		return true
	}
	berth, begun := berths.Of(step.Snapshot.Migration, step.Snapshot.Record.Baseline, step.Snapshot.Record.Handoff)
	return !begun || e.traffic.Take(berth)
}

// book records the resources that a Migration's recorded handoff uses. If the result of a write is unknown,
// they remain booked.
func (r *Reconciler) book(m *api.Migration, failed bool) {
	key := client.ObjectKeyFromObject(m)
	var called []types.NamespacedName
	r.mu.Lock()
	switch berth, under := berths.Of(key, m.Status.Baseline, m.Status.Handoff); {
	case under && !ended(m) && (failed || !r.waits(key)):
		r.ledger.note(berth)
	case !failed:
		called = r.ledger.leave(key)
	}
	r.mu.Unlock()
	r.call(called)
}

// noteWait records whether a Migration uses nothing that another one could use.
func (r *Reconciler) noteWait(d *driven, outcome Outcome) {
	if outcome.Decision.Hold == nil && !outcome.Saved && !outcome.Wrote {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	d.waits = planner.OnlyWaits(outcome.Snapshot, outcome.Decision)
}

// waits reports whether a Migration was seen to use nothing that another one could use, although a handoff of
// it is recorded. r.mu is held.
func (r *Reconciler) waits(key types.NamespacedName) bool {
	d := r.engines[key]
	return d != nil && d.waits
}

// queueFor requeues a Migration when a handoff has ended, if it waits for that.
func (r *Reconciler) queueFor(m *api.Migration, hold *plan.Hold) {
	if hold == nil || hold.Reason != api.ReasonTooManyHandoffs {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ledger.wait(client.ObjectKeyFromObject(m))
}
