package observe

import (
	"context"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sliceshift/sliceshift/migration/endpoint"
)

const (
	// mountsBy is how long a pod may take to mount its volumes before its events are read.
	mountsBy = time.Minute
	// mountFailedLately is how old an event may be that says why it has not.
	mountFailedLately = 10 * time.Minute
)

// mountFailures are the reasons of the events in which a cluster says that a volume of a pod was not mounted (kubernetes
// pkg/kubelet/events, attachdetach). What only says that it has taken long is none.
var mountFailures = []string{"FailedAttachVolume", "FailedMount"}

// mountRefused is what the newest event says of a volume that a pod on a node has not got; empty: none says so, or it has not been
// waited for. Where events may not be read nothing is known.
func mountRefused(ctx context.Context, at endpoint.Endpoint, pod *corev1.Pod, now time.Time) string {
	if pod == nil || pod.Spec.NodeName == "" || pod.DeletionTimestamp != nil || now.Sub(pod.CreationTimestamp.Time) < mountsBy {
		return ""
	}
	begun := func(s corev1.ContainerStatus) bool { return s.State.Running != nil || s.State.Terminated != nil }
	if slices.ContainsFunc(slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses), begun) {
		return ""
	}
	var events corev1.EventList
	if err := at.Live.List(ctx, &events, client.InNamespace(at.Namespace), client.MatchingFields{"involvedObject.uid": string(pod.UID)}); err != nil {
		return ""
	}
	said, newest := "", now.Add(-mountFailedLately)
	for i := range events.Items {
		event := &events.Items[i]
		volume := strings.Contains(event.Message, `failed for volume "`) || strings.Contains(event.Message, `error for volume "`)
		if last := lastOf(event); volume && slices.Contains(mountFailures, event.Reason) && !last.Before(newest) {
			said, newest = event.Message, last
		}
	}
	return said
}

// lastOf is when an event was seen last.
func lastOf(event *corev1.Event) time.Time {
	switch {
	case event.Series != nil:
		return event.Series.LastObservedTime.Time
	case !event.LastTimestamp.IsZero():
		return event.LastTimestamp.Time
	default:
		return event.EventTime.Time
	}
}
