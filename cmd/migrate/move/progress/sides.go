package progress

import (
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sliceshift/sliceshift/migration/plan"
	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
)

// side is one of both slices, as it was last seen.
type side struct {
	name            string
	start, replicas int32
	available       int32
	maxUnavailable  *int32
	// down are its ordinals that are not available; nil: it is not known which are.
	down map[int32]bool
}

func (s side) has(ordinal int32) bool { return s.start <= ordinal && ordinal < s.start+s.replicas }

// seen is a side of a snapshot.
func seen(s plan.Snapshot, from plan.Side) side {
	out := side{
		name: from.Cluster + "/" + from.Namespace + "/" + from.Set.Name, start: from.Set.Start, replicas: from.Set.Replicas,
		available: plan.Available(s.Now, from), maxUnavailable: plan.Allowed(s, from), down: map[int32]bool{},
	}
	for ordinal := out.start; ordinal < out.start+out.replicas; ordinal++ {
		pod, found := from.Pod(ordinal)
		if !found || !pod.Available(s.Now, from.Set.MinReady) {
			out.down[ordinal] = true
		}
	}
	return out
}

// recorded is a side of a status.
func recorded(s *api.SliceStatus, name string) side {
	if s == nil {
		return side{name: name}
	}
	if full, _, found := strings.Cut(s.Slice, " ["); found {
		name = full
	}
	out := side{name: name, start: s.Start, replicas: s.Replicas, available: s.Available, maxUnavailable: s.MaxUnavailable}
	if s.Available == s.Replicas {
		out.down = map[int32]bool{}
	}
	return out
}

// Recorded is the state that a migration's status tells of.
func Recorded(m *api.Migration) State {
	status := m.Status
	p := State{
		Moved: status.Arrived(), Total: status.Total, back: status.Fence != nil && status.Fence.Direction == api.Back,
		clients: status.Probe,
		sides:   [2]side{recorded(status.Source, m.Spec.Source.Name), recorded(status.Destination, m.Spec.Destination.Name)},
	}
	if base := status.Baseline; base != nil {
		p.start, p.budget, p.replicas, p.first = base.StartTime.Time, base.Budget, base.Replicas, base.Start
	}
	if h := status.Handoff; h != nil {
		p.ordinal, p.since, p.step = &h.Ordinal, h.StartTime.Time, h.Step
	}
	if h := status.History; h != nil {
		p.mean = meanOf(h.Handoffs)
	}
	if c := meta.FindStatusCondition(status.Conditions, api.ConditionProgressing); c != nil && c.Message != "" {
		p.hold = &plan.Hold{Reason: c.Reason, Message: c.Message, Stalled: meta.IsStatusConditionTrue(status.Conditions, api.ConditionStalled)}
		p.holdSince = c.LastTransitionTime.Time
		if h := status.Handoff; h != nil && c.Status == metav1.ConditionTrue && !h.StepTime.IsZero() {
			p.holdSince = h.StepTime.Time
		}
	}
	return p
}

func meanOf(handoffs []api.PastHandoff) time.Duration {
	var sum, arrived time.Duration
	for _, h := range handoffs {
		if h.Outcome == "" && !h.Stayed {
			sum, arrived = sum+h.EndTime.Sub(h.StartTime.Time), arrived+1
		}
	}
	return sum / max(1, arrived)
}
