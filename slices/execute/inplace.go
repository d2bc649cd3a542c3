package execute

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "github.com/sliceshift/sliceshift/api/apps/v1alpha1"
	"github.com/sliceshift/sliceshift/slices/decide"
	"github.com/sliceshift/sliceshift/slices/observe"
)

// inPlaceControl updates pods in place.
type inPlaceControl struct{ *PodControl }

// beginInPlace records the update on the pod and makes it not Ready. If the second write fails, the record alone keeps the
// gate closed: see gates.
func (c inPlaceControl) beginInPlace(ctx context.Context, action decide.Action, pod *corev1.Pod) error {
	if c.Templates[action.Revision] == nil {
		return fmt.Errorf("revision %s does not exist", action.Revision)
	}
	progress := observe.ProgressInPlace{Revision: action.Revision, Since: c.Now().UTC()}
	if overtaken := observe.InPlaceOf(pod); overtaken != nil {
		progress.Before, progress.Resized = overtaken.Before, overtaken.Resized
	}
	pod, err := c.remember(ctx, action, pod, progress, nil)
	if err != nil {
		return c.failedUpdate(pod, err)
	}
	_, err = c.gate(ctx, pod, corev1.ConditionFalse)
	return err
}

// patchInPlace resizes the pod, and then patches its images, metadata and revision label together.
func (c inPlaceControl) patchInPlace(ctx context.Context, action decide.Action, pod *corev1.Pod) error {
	from, to, progress := c.Templates[pod.Labels[appsv1.StatefulSetRevisionLabel]], c.Templates[action.Revision], observe.InPlaceOf(pod)
	if from == nil || to == nil || progress == nil {
		return fmt.Errorf("a revision of the update in place from %s to %s does not exist", pod.Labels[appsv1.StatefulSetRevisionLabel], action.Revision)
	}
	if resized := resizedPod(pod, from, to); resized != nil {
		err := c.Client.SubResource("resize").Patch(ctx, resized, over(pod))
		if resizeIsInfeasible(err) {
			progress.Refused = err.Error()
			_ = c.failedUpdate(pod, err)
			_, err = c.remember(ctx, action, pod, *progress, nil)
			return err
		}
		if err != nil {
			return c.failedUpdate(pod, err)
		}
		pod = resized
	}
	now := c.Now().UTC()
	progress.Patched, progress.Before = &now, progress.ContainersBefore(pod, changedImages(pod, from, to))
	progress.Resized = sets.List(sets.New(progress.Resized...).Insert(resizes(from, to)...))
	next := patchedPod(pod, from, to)
	restoreMarks(c.Set, next, to)
	_, err := c.remember(ctx, action, pod, *progress, next)
	return c.failedUpdate(pod, err)
}

func (c inPlaceControl) failedUpdate(pod *corev1.Pod, err error) error {
	if err != nil && !apierrors.IsConflict(err) {
		c.event(pod, corev1.EventTypeWarning, "FailedUpdatePodInPlace", "Update", "pod %s: %v", pod.Name, err)
	}
	return err
}

// remember writes the record of the in-place update, and returns the pod with it. next is the changed pod, or nil if only
// the record changes.
func (c inPlaceControl) remember(ctx context.Context, action decide.Action, pod *corev1.Pod, progress observe.ProgressInPlace, next *corev1.Pod) (*corev1.Pod, error) {
	text, err := json.Marshal(progress)
	if err != nil {
		return pod, err
	}
	if next == nil {
		next = pod.DeepCopy()
	} else {
		next.Labels[appsv1.StatefulSetRevisionLabel] = action.Revision
		observe.Identify(c.Set, next, action.Ordinal)
	}
	if next.Annotations == nil {
		next.Annotations = map[string]string{}
	}
	next.Annotations[api.InPlaceUpdateAnnotationKey] = string(text)
	labelState(c.Set, next)
	return next, c.change(ctx, pod, next)
}

// over returns the patch from the observed pod in the cache. Container fields that the cache omits remain unchanged.
func over(pod *corev1.Pod) client.Patch {
	return client.StrategicMergeFrom(pod, client.MergeFromWithOptimisticLock{})
}

// change patches a pod, with the observed resourceVersion as precondition.
func (c *PodControl) change(ctx context.Context, pod, next *corev1.Pod) error {
	return c.changed(pod, next, c.Client.Patch(ctx, next, over(pod)))
}

// finishInPlace removes the record and opens the readiness gate.
func (c inPlaceControl) finishInPlace(ctx context.Context, _ decide.Action, pod *corev1.Pod) error {
	next := pod.DeepCopy()
	delete(next.Annotations, api.InPlaceUpdateAnnotationKey)
	labelState(c.Set, next)
	if err := c.change(ctx, pod, next); err != nil {
		return err
	}
	c.event(pod, corev1.EventTypeNormal, "SuccessfulUpdatePodInPlace", "Update", "updated pod %s in place", pod.Name)
	_, err := c.gate(ctx, next, corev1.ConditionTrue)
	return err
}

// gate writes the condition of the readiness gate on the observed pod, and returns the changed pod. It does nothing for a
// pod without the gate. The next write can build on the returned pod, because nothing else has changed.
func (c *PodControl) gate(ctx context.Context, pod *corev1.Pod, status corev1.ConditionStatus) (*corev1.Pod, error) {
	if !hasGate(pod) || observe.GateOf(pod) == status {
		return pod, nil
	}
	data, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"uid": pod.UID, "resourceVersion": pod.ResourceVersion},
		"status": map[string]any{"conditions": []corev1.PodCondition{
			{Type: api.InPlaceUpdateReady, Status: status, LastTransitionTime: metav1.NewTime(c.Now())},
		}},
	})
	if err != nil {
		return pod, err
	}
	after := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name}}
	err = c.Client.Status().Patch(ctx, after, client.RawPatch(types.StrategicMergePatchType, data))
	if noted := c.changed(pod, after, err); err != nil {
		return pod, noted
	}
	return after, nil
}

func hasGate(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Spec.ReadinessGates, func(g corev1.PodReadinessGate) bool { return g.ConditionType == api.InPlaceUpdateReady })
}

// The verbs for the readiness gates, which Decide does not cover.
const (
	OpenGate  decide.Verb = "OpenGate"
	CloseGate decide.Verb = "CloseGate"
)

// gates returns the actions that open or close readiness gates. A gate is closed during an in-place update, unless only a
// resize through which the pod can serve is left. It is also closed while a hook with markPodNotReady delays a change. New
// pods start with an open gate.
func (c *PodControl) gates(held []decide.Hold) []decide.Action {
	var actions []decide.Action
	for ordinal, pod := range c.pods {
		verb, status := OpenGate, corev1.ConditionTrue
		progress := observe.InPlaceOf(pod)
		if progress != nil && !progress.Serves(pod) || c.marksNotReady(ordinal, held) {
			verb, status = CloseGate, corev1.ConditionFalse
		}
		if pod.DeletionTimestamp == nil && hasGate(pod) && observe.GateOf(pod) != status {
			actions = append(actions, decide.Action{Verb: verb, Ordinal: ordinal, UID: pod.UID})
		}
	}
	slices.SortFunc(actions, func(a, b decide.Action) int { return cmp.Compare(a.Ordinal, b.Ordinal) })
	return actions
}

// marksNotReady reports whether a hook with markPodNotReady delays a change of an ordinal's pod.
func (c *PodControl) marksNotReady(ordinal int32, held []decide.Hold) bool {
	lifecycle := c.Set.Spec.Lifecycle
	return lifecycle != nil && slices.ContainsFunc(held, func(hold decide.Hold) bool {
		marks := func(hook *api.LifecycleHook, reason string) bool {
			return hold.Reason == reason && hook != nil && hook.MarkPodNotReady
		}
		return hold.Ordinal == ordinal && (marks(lifecycle.PreDelete, decide.HeldPreDelete) || marks(lifecycle.InPlaceUpdate, decide.HeldInPlaceUpdate))
	})
}
