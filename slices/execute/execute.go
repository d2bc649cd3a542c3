// Package execute executes decisions on the pods and claims of a StatefulSet. The API server rejects each write if the
// object has changed since it was observed. The package records the writes that the cache does not show yet.
package execute

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "github.com/sliceshift/sliceshift/api/apps/v1alpha1"
	"github.com/sliceshift/sliceshift/slices/decide"
	"github.com/sliceshift/sliceshift/slices/observe"
)

// PodControl executes decisions on the pods of one StatefulSet.
type PodControl struct {
	Writer
	observe.Seen
	pods map[int32]*corev1.Pod
	// held holds the Held of the current decision.
	held []decide.Hold
	// refused is true when a budget refused a disruption, which is retried later.
	refused atomic.Bool
	// refusals are the writes that the API server refused.
	refusals []decide.Refusal
	// unpulled maps the UIDs of pods to the revision whose images could not be pulled for them.
	unpulled sync.Map
	// charges maps the UIDs of pods to the time at which their PodDisruptionBudget was charged for them.
	charges sync.Map
}

// For returns the control of a set's observed pods.
func (w Writer) For(objects observe.Seen, pods map[int32]*corev1.Pod) *PodControl {
	return &PodControl{Writer: w, Seen: objects, pods: pods}
}

// one executes an action on a pod. pod is nil if none exists.
func (c *PodControl) one(ctx context.Context, action decide.Action, pod *corev1.Pod) error {
	if action.Verb != decide.Create && (pod == nil || pod.UID != action.UID) {
		return nil // it has been deleted meanwhile
	}
	switch action.Verb {
	case decide.Create:
		return c.create(ctx, action)
	case decide.Delete:
		return c.delete(ctx, action, pod)
	case decide.Evict:
		return c.evictWithin(ctx, action, pod)
	case decide.ChargeBudget, decide.ReleaseBudget:
		return budgetControl{c}.count(ctx, action.Verb, pod)
	case decide.Announce:
		return c.announce(ctx, action, pod)
	case decide.Relabel:
		return c.patch(ctx, action, pod, map[string]any{"metadata": map[string]any{"labels": map[string]any{appsv1.StatefulSetRevisionLabel: action.Revision}}})
	case decide.CreateClaims, decide.OwnClaims, decide.GrowClaims:
		return claimControl{c}.one(ctx, action, pod)
	case decide.Repair:
		return c.patch(ctx, action, pod, map[string]any{"metadata": map[string]any{"labels": observe.IdentityLabels(c.Set.Name, action.Ordinal)}})
	case decide.BeginInPlace:
		return inPlaceControl{c}.beginInPlace(ctx, action, pod)
	case decide.PatchInPlace:
		return inPlaceControl{c}.patchInPlace(ctx, action, pod)
	case decide.FinishInPlace:
		return inPlaceControl{c}.finishInPlace(ctx, action, pod)
	case TellState:
		return c.tellState(ctx, action, pod)
	case decide.PrePull:
		return c.prePull(ctx, action, pod)
	case OpenGate, CloseGate: // chain executes these, because the next write builds on their result
	}
	return fmt.Errorf("unknown verb %q", action.Verb)
}

// announce writes the termination reason of a pod, or removes it if the action has no reason.
func (c *PodControl) announce(ctx context.Context, action decide.Action, pod *corev1.Pod) error {
	annotations := map[string]any{api.TerminationReasonAnnotationKey: nil, api.TerminationTimeAnnotationKey: nil}
	if action.Reason != "" {
		annotations[api.TerminationReasonAnnotationKey] = string(action.Reason)
		annotations[api.TerminationTimeAnnotationKey] = c.Now().UTC().Format(time.RFC3339Nano)
	}
	metadata := map[string]any{"annotations": annotations}
	if tellsStates(c.Set) && c.Set.Spec.Lifecycle != nil && c.Set.Spec.Lifecycle.PreDelete != nil {
		next := pod.DeepCopy()
		metav1.SetMetaDataAnnotation(&next.ObjectMeta, api.TerminationReasonAnnotationKey, string(action.Reason))
		metadata["labels"] = map[string]any{api.LifecycleStateLabelKey: string(lifecycleState(c.Set, next, false))}
	}
	return c.patch(ctx, action, pod, map[string]any{"metadata": metadata})
}

func (c *PodControl) key() types.NamespacedName { return client.ObjectKeyFromObject(c.Set) }

func (c *PodControl) create(ctx context.Context, action decide.Action) error {
	template := c.Templates[action.Revision]
	if template == nil {
		return fmt.Errorf("revision %s does not exist", action.Revision)
	}
	spec, err := decide.SpecOf(c.Set)
	if err != nil {
		return err
	}
	pod := observe.NewPod(c.Set, template, action.Revision, action.Ordinal)
	labelState(c.Set, pod)
	if !spec.Owns(action.Ordinal) {
		return c.createStandIn(ctx, action.Ordinal, pod)
	}
	if err := (claimControl{c}).createClaims(ctx, action.Ordinal); err != nil {
		c.event(pod, corev1.EventTypeWarning, "FailedCreate", "Create", "claims of pod %s: %v", pod.Name, err)
		return err
	}
	return c.createPod(ctx, pod)
}

func (c *PodControl) createPod(ctx context.Context, pod *corev1.Pod) error {
	if err := c.Client.Create(ctx, pod); err != nil {
		c.event(pod, corev1.EventTypeWarning, "FailedCreate", "Create", "pod %s: %v", pod.Name, err)
		return err
	}
	c.Expectations.expectVersion(c.key(), pod, c.Now())
	c.event(pod, corev1.EventTypeNormal, "SuccessfulCreate", "Create", "created pod %s", pod.Name)
	return nil
}

// delete deletes the observed pod. A pod that no longer exists counts as deleted.
//
// While a migration drives the set, deletions within the budget are evictions. The PodDisruptionBudget, of which the
// migration has its share, is common to both slices, and the API server enforces it. A pod that is not Ready needs no budget
// and is deleted directly, because a budget of 0 would keep it forever.
func (c *PodControl) delete(ctx context.Context, action decide.Action, pod *corev1.Pod) error {
	conditions := c.preconditions(action, pod)
	remove := func() error { return c.Client.Delete(ctx, onlyMetadata(pod), client.Preconditions(conditions)) }
	byBudget := action.Reason == api.TerminationUpdate || action.Reason == api.TerminationDeletion
	if c.Set.Annotations[api.MigratingAnnotationKey] != "" && byBudget && !costsNothing(pod) {
		remove = func() error { return c.evict(ctx, pod, conditions) }
	}
	err := remove()
	if apierrors.IsTooManyRequests(err) {
		c.refused.Store(true)
		return nil
	}
	return c.removed(action, pod, "deleted", err)
}

// removed records the result of a deletion or an eviction, in the word done of an event.
func (c *PodControl) removed(action decide.Action, pod *corev1.Pod, done string, err error) error {
	if err != nil && !apierrors.IsNotFound(err) {
		if Unsettled(err) {
			c.Expectations.expectDeletion(c.key(), pod.Name, pod.UID, c.Now())
		}
		c.event(pod, corev1.EventTypeWarning, "FailedDelete", "Delete", "pod %s: %v", pod.Name, err)
		return err
	}
	c.Expectations.expectDeletion(c.key(), pod.Name, pod.UID, c.Now())
	claimControl{c}.tellOfClaims(action, pod)
	c.event(pod, corev1.EventTypeNormal, "SuccessfulDelete", "Delete", "%s pod %s (%s)", done, pod.Name, cmp.Or(string(action.Reason), "it has ended"))
	return nil
}

// onlyMetadata returns the metadata of a pod to be deleted. With a whole pod, the client would decode each response into it,
// for hundreds of pods.
func onlyMetadata(pod *corev1.Pod) *metav1.PartialObjectMetadata {
	return &metav1.PartialObjectMetadata{
		TypeMeta:   metav1.TypeMeta{APIVersion: corev1.SchemeGroupVersion.String(), Kind: "Pod"},
		ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name},
	}
}

// costsNothing reports whether a pod may be taken down without the budget, because it was observed as not Ready. Such a pod
// is written with its resourceVersion as precondition, because it may be Ready by now.
func costsNothing(pod *corev1.Pod) bool {
	ready, _ := observe.Readiness(pod)
	return !ready
}

// preconditions returns the preconditions of a deletion or eviction of the observed pod.
func (c *PodControl) preconditions(action decide.Action, pod *corev1.Pod) metav1.Preconditions {
	conditions := metav1.Preconditions{UID: &action.UID}
	if costsNothing(pod) {
		version := c.Expectations.newestVersion(c.key(), pod)
		conditions.ResourceVersion = &version
	}
	return conditions
}

func (c *PodControl) evict(ctx context.Context, pod *corev1.Pod, conditions metav1.Preconditions) error {
	return c.Client.SubResource(eviction).Create(ctx, pod.DeepCopy(), &policyv1.Eviction{
		ObjectMeta:    metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name},
		DeleteOptions: &metav1.DeleteOptions{Preconditions: &conditions},
	})
}

// patch patches the observed pod. A strategic merge patch is the cheapest for the API server, because it applies the patch
// without encoding the pod.
func (c *PodControl) patch(ctx context.Context, action decide.Action, pod *corev1.Pod, change map[string]any) error {
	metadata, _ := change["metadata"].(map[string]any)
	metadata["uid"] = action.UID
	if costsNothing(pod) {
		metadata["resourceVersion"] = pod.ResourceVersion
	}
	data, err := json.Marshal(change)
	if err != nil {
		return err
	}
	patched := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name}}
	return c.changed(pod, patched, c.Client.Patch(ctx, patched, client.RawPatch(types.StrategicMergePatchType, data)))
}

// changed records what the cache must show after a successful write, or after a write without a response.
func (c *PodControl) changed(pod, after *corev1.Pod, err error) error {
	switch {
	case err == nil:
		c.Expectations.expectVersion(c.key(), after, c.Now())
	case Unsettled(err):
		c.Expectations.expectAnswer(c.key(), pod, c.Now())
	}
	return client.IgnoreNotFound(err)
}

// event sends an event about the set. The related object distinguishes events with the same reason: events that differ only
// in their text are aggregated.
func (c *PodControl) event(about client.Object, kind, reason, action, note string, args ...any) {
	c.Events.Eventf(c.Set, about, kind, reason, action, note, args...)
}
