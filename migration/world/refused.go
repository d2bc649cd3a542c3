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

// refusal is the reason for a pod that is not created. since is when the pod was first missed, and at when the reason was
// looked up.
type refusal struct {
	since, at time.Time
	said      string
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
	pod := plan.PodName(to.set.Name, handoff.Ordinal)
	if _, found := side.Pod(handoff.Ordinal); found {
		delete(e.refusals, pod)
		return ""
	}
	// The time of the step does not suffice for several in flight: it may be that of their begin.
	known := e.missed(pod, s.Now)
	if s.Now.Sub(handoff.StepTime.Time) < refusedAfter || len(s.Record.Further) > 0 && s.Now.Sub(known.since) < refusedAfter {
		return ""
	}
	for _, c := range to.set.Status.Conditions {
		if string(c.Type) == failedCreatePod && c.Status == corev1.ConditionTrue {
			return c.Message
		}
	}
	if known.at.IsZero() || e.Clock.Since(known.at) >= refusedFor {
		known.at, known.said = e.Clock.Now(), failedCreateOf(ctx, to.endpoint, pod, to.endpoint.Theirs(handoff.StepTime.Add(-refusedSkew)))
		e.refusals[pod] = known
	}
	return known.said
}

// missed returns what is known about a missing pod, and remembers since when it is missing.
func (e *Observer) missed(pod string, now time.Time) refusal {
	known, is := e.refusals[pod]
	if !is {
		if e.refusals == nil {
			e.refusals = map[string]refusal{}
		}
		known.since = now
		e.refusals[pod] = known
	}
	return known
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
