package world

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
	// mountFailedLately is the maximum age of an event about a failed mount.
	mountFailedLately = 10 * time.Minute
)

// mountFailures lists the reasons of events about volumes that could not be mounted (kubernetes pkg/kubelet/events,
// attachdetach). Events that only report a delay are not included.
var mountFailures = []string{"FailedAttachVolume", "FailedMount"}

// MountRefused returns the message of the newest event about a volume that a scheduled pod could not mount; empty if
// there is none, or the pod is too new. If events may not be read, no reason is known.
func MountRefused(ctx context.Context, at endpoint.Endpoint, pod *corev1.Pod, now time.Time) string {
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

// lastOf returns when an event was last observed.
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
