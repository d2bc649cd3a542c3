package observe

import (
	"context"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sliceshift/sliceshift/migration/endpoint"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/migration/planner"
)

const (
	// refusedAfter is how long a pod may be missing before somebody asks why.
	refusedAfter = 3 * time.Second
	// refusedFor is how long an answer to that is enough.
	refusedFor = 10 * time.Second
	// refusedSkew is how much the clock that dates an event may lag behind ours.
	refusedSkew = 2 * time.Minute
	// failedCreate is the reason of the event, and of our own kind's condition, of a pod that could not be created.
	failedCreate, failedCreatePod = "FailedCreate", "FailedCreatePod"
)

// refusals are what was found last of a pod that is not created.
type refusals struct {
	pod  string
	at   time.Time
	said string
}

// refused says why the ordinal that is to arrive has no pod, in the words of its controller; empty: it has one, or nobody knows. What is
// not readable, for want of a right above all, keeps nothing from going on: it is for people.
func (e *Observer) refused(ctx context.Context, s plan.Snapshot, to *observed) string {
	handoff := s.Record.Handoff
	side := s.Side(planner.Giver(s).Other())
	if handoff == nil || to.set == nil || side.Lost || !side.Set.Has(handoff.Ordinal) {
		return ""
	}
	if _, found := side.Pod(handoff.Ordinal); found || s.Now.Sub(handoff.StepTime.Time) < refusedAfter {
		return ""
	}
	for _, c := range to.set.Status.Conditions {
		if string(c.Type) == failedCreatePod && c.Status == corev1.ConditionTrue {
			return c.Message
		}
	}
	pod := plan.PodName(to.set.Name, handoff.Ordinal)
	if e.refusals.pod != pod || e.Clock.Since(e.refusals.at) >= refusedFor {
		e.refusals = refusals{pod: pod, at: e.Clock.Now(), said: failedCreateOf(ctx, to.endpoint, pod, to.endpoint.Theirs(handoff.StepTime.Add(-refusedSkew)))}
	}
	return e.refusals.said
}

// failedCreateOf is what the newest event says of a pod that could not be created, not older than a time.
func failedCreateOf(ctx context.Context, at endpoint.Endpoint, pod string, since time.Time) string {
	var events corev1.EventList
	err := at.Live.List(ctx, &events, client.InNamespace(at.Namespace), client.MatchingFields{"involvedObject.name": at.Set, "reason": failedCreate})
	if err != nil {
		return ""
	}
	said, newest := "", since
	for i := range events.Items {
		event := &events.Items[i]
		last := lastOf(event)
		if last.Before(newest) || !strings.Contains(event.Message, pod+" ") {
			continue
		}
		said, newest = event.Message, last
	}
	return said
}
