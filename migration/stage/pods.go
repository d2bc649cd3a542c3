package stage

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sliceshift/sliceshift/migration/endpoint"
	"github.com/sliceshift/sliceshift/migration/rehearsal"
	"github.com/sliceshift/sliceshift/mover/report"
	"github.com/sliceshift/sliceshift/volumes"
)

// probe reads a pod that tries addresses.
func (s *Stage) probe(ctx context.Context, r rehearsal.Record, name string) (rehearsal.Probe, error) {
	at := s.Pair.Destination
	object, pod, err := get[corev1.Pod](ctx, at, r, volumes.Ref{Namespace: at.Namespace, Name: name})
	p := rehearsal.Probe{Object: object}
	if err != nil || pod == nil {
		return p, err
	}
	p.Trouble, p.Priority = troubleOf(pod), ptr.Deref(pod.Spec.Priority, 0)
	p.Preempts = p.Priority > 0 && ptr.Deref(pod.Spec.PreemptionPolicy, corev1.PreemptLowerPriority) != corev1.PreemptNever
	for _, c := range pod.Status.ContainerStatuses {
		if c.State.Terminated == nil {
			continue
		}
		var result report.Reach
		if err := json.Unmarshal([]byte(c.State.Terminated.Message), &result); err != nil || result.Version != report.Version || result.Result != report.Tried {
			p.Trouble = cmp.Or(c.State.Terminated.Message, c.State.Terminated.Reason)
			continue
		}
		p.Finished, p.Reached, p.Unreached = true, result.Reached, result.Unreached
	}
	return p, nil
}

// pods reads the pods of the StatefulSet. The times of a start are read when all are Ready.
func (s *Stage) pods(ctx context.Context, r rehearsal.Record) ([]rehearsal.Pod, error) {
	if s.ask.Replicas == 0 || r.End != nil {
		return nil, nil
	}
	at := s.Pair.Destination
	found, err := endpoint.GetAll[corev1.Pod](ctx, at.Live, at.Namespace, namesOf(at.Set, s.ask.Start, s.ask.Replicas))
	if err != nil {
		return nil, err
	}
	var all []rehearsal.Pod
	uids := map[types.UID]int{}
	for ordinal := s.ask.Start; ordinal < s.ask.Start+s.ask.Replicas; ordinal++ {
		pod := found[nameOf(at.Set, ordinal)]
		if pod == nil {
			continue
		}
		uids[pod.UID] = len(all)
		all = append(all, rehearsal.Pod{Object: objectOf(at, pod, r, volumes.Ref{}), Ordinal: ordinal, IsReady: readySince(pod) != nil, Trouble: troubleOf(pod), Times: timesOf(pod)})
	}
	if len(all) == 0 || slices.ContainsFunc(all, func(p rehearsal.Pod) bool { return !p.IsReady }) {
		return all, nil
	}
	return all, s.addEvents(ctx, all, uids)
}

// nameOf returns the name of the pod of an ordinal.
func nameOf(set string, ordinal int32) string { return set + "-" + strconv.Itoa(int(ordinal)) }

func namesOf(set string, start, replicas int32) []string {
	names := make([]string, 0, replicas)
	for ordinal := start; ordinal < start+replicas; ordinal++ {
		names = append(names, nameOf(set, ordinal))
	}
	return names
}

// readySince returns since when a pod is Ready; nil if it is not.
func readySince(pod *corev1.Pod) *time.Time {
	return conditionSince(pod, corev1.PodReady)
}

func conditionSince(pod *corev1.Pod, kind corev1.PodConditionType) *time.Time {
	for _, c := range pod.Status.Conditions {
		if c.Type == kind && c.Status == corev1.ConditionTrue {
			return &c.LastTransitionTime.Time
		}
	}
	return nil
}

// timesOf returns the moments of a start that the pod itself has.
func timesOf(pod *corev1.Pod) rehearsal.Times {
	t := rehearsal.Times{Created: pod.CreationTimestamp.Time}
	if at := conditionSince(pod, corev1.PodScheduled); at != nil {
		t.Scheduled = *at
	}
	if at := readySince(pod); at != nil {
		t.Ready = *at
	}
	for _, c := range pod.Status.ContainerStatuses {
		if c.State.Running != nil && c.State.Running.StartedAt.After(t.Started) {
			t.Started = c.State.Running.StartedAt.Time
		}
	}
	return t
}

// addEvents adds the moments that only events have: the attachment of disks and the pull of images.
func (s *Stage) addEvents(ctx context.Context, pods []rehearsal.Pod, uids map[types.UID]int) error {
	var events corev1.EventList
	if err := s.Pair.Destination.Live.List(ctx, &events, client.InNamespace(s.Pair.Destination.Namespace)); err != nil {
		return err
	}
	for _, e := range events.Items {
		at, is := uids[e.InvolvedObject.UID]
		if !is {
			continue
		}
		t, when := &pods[at].Times, momentOf(e)
		switch {
		case e.Reason == "SuccessfulAttachVolume" && when.After(t.Attached):
			t.Attached = when
		case e.Reason == "Pulling" && (t.Pulling.IsZero() || when.Before(t.Pulling)):
			t.Pulling = when
		case e.Reason == "Pulled" && when.After(t.Pulled):
			t.Pulled = when
		}
	}
	return nil
}

// momentOf returns when an event happened last.
func momentOf(e corev1.Event) time.Time {
	switch {
	case !e.LastTimestamp.IsZero():
		return e.LastTimestamp.Time
	case !e.EventTime.IsZero():
		return e.EventTime.Time
	}
	return e.CreationTimestamp.Time
}

// troubleOf returns why a pod does not run; empty if no reason is known.
func troubleOf(pod *corev1.Pod) string {
	for _, c := range slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses) {
		if w := c.State.Waiting; w != nil && w.Reason != "" && w.Reason != "ContainerCreating" && w.Reason != "PodInitializing" {
			return strings.TrimSuffix(w.Reason+": "+w.Message, ": ")
		}
	}
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse {
			return c.Message
		}
	}
	return pod.Status.Message
}
