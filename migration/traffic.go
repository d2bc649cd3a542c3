package migration

import (
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sliceshift/sliceshift/migration/berths"
	"github.com/sliceshift/sliceshift/migration/pass"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/migration/planner"
	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
)

// Traffic is what the handoffs of all migrations share.
type Traffic interface {
	// Load is what others use than the migration that asks; nil: nothing is bounded.
	Load() *berths.Load
	// Take is asked before a handoff is recorded. It is false where it would be one too many.
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

// load is what the handoffs of others use.
func (e *Engine) load() *berths.Load {
	if e.traffic == nil {
		return nil
	}
	return e.traffic.Load()
}

// begins says whether a record may be written as far as others are concerned: two that look at the same time
// may both find room for one more handoff. What goes back is not held.
func (e *Engine) begins(step pass.Step) bool {
	before, after := step.Snapshot.Record.Handoff, step.Decision.Record.Handoff
	if e.traffic == nil || after == nil || before != nil && before.Ordinal == after.Ordinal {
		return true
	}
	berth, begun := berths.Of(step.Snapshot.Migration, step.Decision.Record.Baseline, step.Decision.Record.Handoff)
	return !begun || e.traffic.Take(berth) || step.Decision.Record.Fence != nil && step.Decision.Record.Fence.Direction == api.Back
}

// hasPlace says whether a write may be carried out as far as others are concerned: who only waited has left its place to them.
func (e *Engine) hasPlace(step pass.Step) bool {
	if e.traffic == nil || !planner.TakesPlace(step.Snapshot, *step.Decision.Effect) {
		return true
	}
	berth, begun := berths.Of(step.Snapshot.Migration, step.Snapshot.Record.Baseline, step.Snapshot.Record.Handoff)
	return !begun || e.traffic.Take(berth)
}

// book notes what a Migration's handoff uses as it is recorded. Where it is not known what became of a record,
// what was taken stays so.
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

// noteWait notes whether a Migration uses nothing that others could use.
func (r *Reconciler) noteWait(d *driven, outcome Outcome) {
	if outcome.Decision.Hold == nil && !outcome.Saved && !outcome.Wrote {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	d.waits = planner.OnlyWaits(outcome.Snapshot, outcome.Decision)
}

// waits says whether a Migration was seen to use nothing that others could use, though a handoff of it is recorded. r.mu is held.
func (r *Reconciler) waits(key types.NamespacedName) bool {
	d := r.engines[key]
	return d != nil && d.waits
}

// queueFor has a Migration looked at again when a handoff has ended, where it waits for that.
func (r *Reconciler) queueFor(m *api.Migration, hold *plan.Hold) {
	if hold == nil || hold.Reason != api.ReasonTooManyHandoffs {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ledger.wait(client.ObjectKeyFromObject(m))
}
