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
	// Take is called before a handoff is recorded, with the other handoffs of the migration. It returns false if a
	// limit is reached.
	Take(berth berths.Berth, beside ...berths.Berth) bool
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

func (t traffic) Take(b berths.Berth, beside ...berths.Berth) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.ledger.take(b, beside...)
}

// book records the resources that a Migration's recorded handoffs use. If the result of a write is unknown,
// they remain booked.
func (r *Reconciler) book(m *api.Migration, failed bool) {
	key := client.ObjectKeyFromObject(m)
	var called []types.NamespacedName
	r.mu.Lock()
	switch berth, under := berths.Of(key, m.Status.Baseline, m.Status.Handoff); {
	case under && !ended(m) && (failed || !r.waits(key)):
		all := []berths.Berth{berth}
		for i := range m.Status.FurtherHandoffs {
			further, _ := berths.Of(key, m.Status.Baseline, &m.Status.FurtherHandoffs[i])
			all = append(all, further)
		}
		r.ledger.note(all...)
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
