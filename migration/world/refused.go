package world

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
	// refusedAfter is how long a pod may be missing before the reason is looked up.
	refusedAfter = 3 * time.Second
	// refusedFor is how long that answer is valid.
	refusedFor = 10 * time.Second
	// refusedSkew is how much the clock that dates an event may lag behind ours.
	refusedSkew = 2 * time.Minute
	// failedCreate is the reason of the event, and failedCreatePod the condition of our own kind, for a pod that
	// could not be created.
	failedCreate, failedCreatePod = "FailedCreate", "FailedCreatePod"
)

// refusals caches the last reason for a pod that is not created.
type refusals struct {
	pod  string
	at   time.Time
	said string
}

// refused returns the controller's message why the arriving ordinal has no pod; empty if it has one, or the reason is
// not known. A failed read, such as for a missing right, does not block the migration, because the message is only
// shown to users.
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

// failedCreateOf returns the message of the newest event, not older than since, about a pod that could not be
// created.
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
