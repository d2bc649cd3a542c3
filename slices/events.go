package slices

import (
	"fmt"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/util/flowcontrol"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "github.com/sliceshift/sliceshift/api/apps/v1alpha1"
	"github.com/sliceshift/sliceshift/slices/decide"
)

// An event is sent for each created or deleted pod, up to these limits for each set. Otherwise, a roll-out of thousands of
// pods would double the writes and push out the events that users look for. Kubernetes' own recorder combines the same
// number of similar events (client-go/tools/record, defaultAggregateMaxEvents).
const (
	eventsAtOnce  = 10
	eventsASecond = 0.1
)

// moderate is an event recorder that limits the normal events of each set. It passes all warnings.
type moderate struct {
	events.EventRecorder
	clock clock.PassiveClock

	mu     sync.Mutex
	limits map[types.NamespacedName]flowcontrol.PassiveRateLimiter
}

func newModerate(recorder events.EventRecorder, clock clock.PassiveClock) *moderate {
	return &moderate{EventRecorder: recorder, clock: clock, limits: map[types.NamespacedName]flowcontrol.PassiveRateLimiter{}}
}

// Eventf implements events.EventRecorder.
func (m *moderate) Eventf(regarding, related runtime.Object, kind, reason, action, note string, args ...any) {
	set, named := regarding.(client.Object)
	if kind == corev1.EventTypeNormal && named && !m.allows(client.ObjectKeyFromObject(set)) {
		return
	}
	m.EventRecorder.Eventf(regarding, related, kind, reason, action, note, args...)
}

func (m *moderate) allows(set types.NamespacedName) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	limit, known := m.limits[set]
	if !known {
		limit = flowcontrol.NewTokenBucketPassiveRateLimiterWithClock(eventsASecond, eventsAtOnce, m.clock)
		m.limits[set] = limit
	}
	return limit.TryAccept()
}

// forget removes the state of a deleted set.
func (m *moderate) forget(set types.NamespacedName) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.limits, set)
}

// warn sends the warnings of a decision. Those about the spec are sent once for each generation.
func (r *Reconciler) warn(set *api.StatefulSet, decision decide.Decision) {
	known := r.recall(set)
	if decision.RangeWarning != "" && set.Status.ObservedGeneration < set.Generation && known.warned != set.Generation {
		known.warned = set.Generation
		r.told.Eventf(set, nil, corev1.EventTypeWarning, "RangeMoved", "Scale", "%s", decision.RangeWarning)
	}
	if decision.TopologyWarning != "" && known.warnedOfNodes != set.Generation {
		known.warnedOfNodes = set.Generation
		r.told.Eventf(set, nil, corev1.EventTypeWarning, "TopologyKeyMissing", "Update", "%s", decision.TopologyWarning)
	}
	if warning := known.budgetHold.warning(decision, r.now()); warning != "" {
		r.told.Eventf(set, nil, corev1.EventTypeWarning, "HeldByDisruptionBudget", "Update", "%s", warning)
	}
	r.memorise(set, known)
}

// budgetHold is how long a PodDisruptionBudget holds a pod of a set.
type budgetHold struct {
	since time.Time
	told  bool
}

// budgetPatience is the time after which an event names the pod that a PodDisruptionBudget holds. Shorter waits are part of
// each roll-out.
const budgetPatience = time.Minute

// warning returns the warning about a pod that has been held for budgetPatience, once, or an empty string. An eviction that
// is tried again does not end the wait.
func (b *budgetHold) warning(d decide.Decision, now time.Time) string {
	at := slices.IndexFunc(d.Held, func(h decide.Hold) bool { return h.Reason == decide.HeldDisruption })
	switch {
	case at < 0 && slices.ContainsFunc(d.Actions, func(a decide.Action) bool { return a.Verb == decide.Evict }):
		return ""
	case at < 0:
		*b = budgetHold{}
		return ""
	case b.since.IsZero():
		b.since = now
	}
	if b.told || now.Sub(b.since) < budgetPatience {
		return ""
	}
	b.told = true
	return fmt.Sprintf("ordinal %d waits: %s", d.Held[at].Ordinal, d.Held[at].Message)
}

// tellOfFailure sends an event when a roll-out fails that is rolled back. It returns when the next pass starts to return the
// pods, or 0 if there is nothing to start.
func (r *Reconciler) tellOfFailure(set *api.StatefulSet, in decide.Input, decision decide.Decision) time.Duration {
	if decision.FailedRevision == "" || in.Revisions.Failed {
		return 0
	}
	r.told.Eventf(set, nil, corev1.EventTypeWarning, "RolledBack", "RollBack", "%s", decision.Progress.Message)
	return retryChanged
}
