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

	"github.com/sliceshift/sliceshift/slices/decide"
	"github.com/sliceshift/sliceshift/slices/observe"
	api "github.com/sliceshift/sliceshift/slices/v1alpha1"
)

// inPlaceControl updates pods in place.
type inPlaceControl struct{ *PodControl }

// beginInPlace notes what the pod is on its way to, and makes it not Ready. Should the
// second write fail, the note alone keeps the gate closed: see gates.
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

// patchInPlace resizes the pod, and gives it the images and the metadata of its new
// revision together with its label.
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
	_, err := c.remember(ctx, action, pod, *progress, patchedPod(pod, from, to))
	return c.failedUpdate(pod, err)
}

func (c inPlaceControl) failedUpdate(pod *corev1.Pod, err error) error {
	if err != nil && !apierrors.IsConflict(err) {
		c.event(pod, corev1.EventTypeWarning, "FailedUpdatePodInPlace", "Update", "pod %s: %v", pod.Name, err)
	}
	return err
}

// remember writes what a pod remembers of its update in place, and returns the pod with
// it; next is the pod as it becomes, nil: as it is.
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

// over is the patch from a pod as it was judged, and as the cache keeps it: what is left out
// there of a container stays as it is.
func over(pod *corev1.Pod) client.Patch {
	return client.StrategicMergeFrom(pod, client.MergeFromWithOptimisticLock{})
}

// change writes a pod as it becomes, over the version that was judged.
func (c *PodControl) change(ctx context.Context, pod, next *corev1.Pod) error {
	return c.changed(pod, next, c.Client.Patch(ctx, next, over(pod)))
}

// finishInPlace lets the pod be Ready again.
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

// gate writes the condition of the readiness gate on the very pod that was judged, as it
// was judged, and returns the pod with it; pods without the gate have none. What is
// returned may be built upon: nothing else of it has changed.
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

// The verbs of the readiness gates, of which Decide knows nothing.
const (
	OpenGate  decide.Verb = "OpenGate"
	CloseGate decide.Verb = "CloseGate"
)

// gates bring the readiness gates in line with what the pods are in: closed in an update
// in place, unless what is left of it is a resize that the pod may serve through, and while a
// hook holds that asks for it. New pods begin with it open.
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

// marksNotReady says whether a hook holds an ordinal's pod and wants it not Ready
// meanwhile.
func (c *PodControl) marksNotReady(ordinal int32, held []decide.Hold) bool {
	lifecycle := c.Set.Spec.Lifecycle
	return lifecycle != nil && slices.ContainsFunc(held, func(hold decide.Hold) bool {
		marks := func(hook *api.LifecycleHook, reason string) bool {
			return hold.Reason == reason && hook != nil && hook.MarkPodNotReady
		}
		return hold.Ordinal == ordinal && (marks(lifecycle.PreDelete, decide.HeldPreDelete) || marks(lifecycle.InPlaceUpdate, decide.HeldInPlaceUpdate))
	})
}
