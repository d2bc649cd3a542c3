package slices

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

	api "github.com/sliceshift/sliceshift/slices/v1alpha1"
)

// PodControl carries out what was decided for the pods of one StatefulSet.
type PodControl struct {
	Writer
	seen
	pods map[int32]*corev1.Pod
	// held are the holds of the decision that is carried out.
	held []Hold
	// refused is true when the budget did not let a pod go: it is asked again later.
	refused atomic.Bool
	// unpulled are the UIDs of pods beside which no pod that pulls images could be made.
	unpulled sync.Map
}

// For is the control of the pods of one set, as they were observed.
func (w Writer) For(objects seen, pods map[int32]*corev1.Pod) *PodControl {
	return &PodControl{Writer: w, seen: objects, pods: pods}
}

// one carries out one action on a pod; nil: there is none.
func (c *PodControl) one(ctx context.Context, action Action, pod *corev1.Pod) error {
	if action.Verb != Create && (pod == nil || pod.UID != action.UID) {
		return nil // it is gone meanwhile
	}
	switch action.Verb {
	case Create:
		return c.create(ctx, action)
	case Delete:
		return c.delete(ctx, action, pod)
	case Announce:
		return c.announce(ctx, action, pod)
	case Relabel:
		return c.patch(ctx, action, pod, map[string]any{"metadata": map[string]any{"labels": map[string]any{appsv1.StatefulSetRevisionLabel: action.Revision}}})
	case CreateClaims:
		return claimControl{c}.makeClaims(ctx, action.Ordinal, pod)
	case OwnClaims:
		return claimControl{c}.ownClaims(ctx, action.Ordinal, pod)
	case Repair:
		return c.patch(ctx, action, pod, map[string]any{"metadata": map[string]any{"labels": identityLabels(c.set.Name, action.Ordinal)}})
	case GrowClaims:
		return claimControl{c}.growClaims(ctx, action.Ordinal)
	case BeginInPlace:
		return inPlaceControl{c}.beginInPlace(ctx, action, pod)
	case PatchInPlace:
		return inPlaceControl{c}.patchInPlace(ctx, action, pod)
	case FinishInPlace:
		return inPlaceControl{c}.finishInPlace(ctx, action, pod)
	case tellState:
		return c.tellState(ctx, action, pod)
	case PrePull:
		return c.prePull(ctx, action, pod)
	case openGate, closeGate: // what they write is what is written next: chain carries them out
	}
	return fmt.Errorf("unknown verb %q", action.Verb)
}

// announce writes why a pod goes; without a reason it takes back what was written.
func (c *PodControl) announce(ctx context.Context, action Action, pod *corev1.Pod) error {
	annotations := map[string]any{api.TerminationReasonAnnotationKey: nil, api.TerminationTimeAnnotationKey: nil}
	if action.Reason != "" {
		annotations[api.TerminationReasonAnnotationKey] = string(action.Reason)
		annotations[api.TerminationTimeAnnotationKey] = c.Now().UTC().Format(time.RFC3339Nano)
	}
	metadata := map[string]any{"annotations": annotations}
	if tellsStates(c.set) && c.set.Spec.Lifecycle != nil && c.set.Spec.Lifecycle.PreDelete != nil {
		next := pod.DeepCopy()
		metav1.SetMetaDataAnnotation(&next.ObjectMeta, api.TerminationReasonAnnotationKey, string(action.Reason))
		metadata["labels"] = map[string]any{api.LifecycleStateLabelKey: string(lifecycleState(c.set, next, false))}
	}
	return c.patch(ctx, action, pod, map[string]any{"metadata": metadata})
}

func (c *PodControl) key() types.NamespacedName { return client.ObjectKeyFromObject(c.set) }

func (c *PodControl) create(ctx context.Context, action Action) error {
	template := c.templates[action.Revision]
	if template == nil {
		return fmt.Errorf("revision %s does not exist", action.Revision)
	}
	spec, err := SpecOf(c.set)
	if err != nil {
		return err
	}
	pod := newPod(c.set, template, action.Revision, action.Ordinal)
	labelState(c.set, pod)
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

// claimControl carries out what was decided for the claims of the pods.
type claimControl struct{ *PodControl }

// createClaims makes the claims that a new pod lacks. One that is being deleted is waited
// for: a pod that mounts it would hold it, and lose it in the end.
func (c claimControl) createClaims(ctx context.Context, ordinal int32) error {
	for _, template := range c.set.Spec.VolumeClaimTemplates {
		if have := c.claims[claimName(template.Name, c.set.Name, ordinal)]; have != nil && have.DeletionTimestamp != nil {
			return fmt.Errorf("claim %s is being deleted", have.Name)
		}
	}
	return c.createMissing(ctx, ordinal)
}

func (c claimControl) createMissing(ctx context.Context, ordinal int32) error {
	for _, claim := range c.missingClaims(ordinal) {
		setOwners(claim, ownersOf(c.set, false), c.set, &corev1.Pod{})
		if err := c.Client.Create(ctx, claim); err != nil && !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("creating claim %s: %w", claim.Name, err)
		}
	}
	return nil
}

// missingClaims are the claims that an ordinal is to have and has not, to be made.
func (c claimControl) missingClaims(ordinal int32) (missing []*corev1.PersistentVolumeClaim) {
	for i := range c.set.Spec.VolumeClaimTemplates {
		if claim := newClaim(c.set, &c.set.Spec.VolumeClaimTemplates[i], ordinal); c.claims[claim.Name] == nil {
			missing = append(missing, claim)
		}
	}
	return missing
}

// delete deletes the very pod that was judged. One that is gone was deleted.
//
// While a migration drives the set, a pod that goes by the budget is evicted: the
// PodDisruptionBudget, of which the migration takes its share, is what both have in
// common, and the API server lets only so many go. One that is not Ready costs nothing, and
// is not asked for: a budget of 0 would keep it as it is for ever.
func (c *PodControl) delete(ctx context.Context, action Action, pod *corev1.Pod) error {
	conditions := client.Preconditions{UID: &action.UID}
	if costsNothing(pod) {
		version := c.Expectations.newestVersion(c.key(), pod)
		conditions.ResourceVersion = &version
	}
	remove := func() error {
		return c.Client.Delete(ctx, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name}}, conditions)
	}
	byBudget := action.Reason == api.TerminationUpdate || action.Reason == api.TerminationDeletion
	if c.set.Annotations[api.MigratingAnnotationKey] != "" && byBudget && !costsNothing(pod) {
		remove = func() error { return c.evict(ctx, action, pod) }
	}
	err := remove()
	if apierrors.IsTooManyRequests(err) {
		c.refused.Store(true)
		return nil
	}
	if err != nil && !apierrors.IsNotFound(err) {
		if unsettled(err) {
			c.Expectations.expectDeletion(c.key(), pod.Name, pod.UID, c.Now())
		}
		c.event(pod, corev1.EventTypeWarning, "FailedDelete", "Delete", "pod %s: %v", pod.Name, err)
		return err
	}
	c.Expectations.expectDeletion(c.key(), pod.Name, pod.UID, c.Now())
	claimControl{c}.tellOfClaims(action, pod)
	c.event(pod, corev1.EventTypeNormal, "SuccessfulDelete", "Delete", "deleted pod %s (%s)", pod.Name, cmp.Or(string(action.Reason), "it has ended"))
	return nil
}

// tellOfClaims says which claims outlive their ordinal against the retention policy, for
// somebody else controls them.
func (c claimControl) tellOfClaims(action Action, pod *corev1.Pod) {
	spec, err := SpecOf(c.set)
	if err != nil || !ownersOf(c.set, !spec.Owns(action.Ordinal)).pod {
		return
	}
	for _, template := range c.set.Spec.VolumeClaimTemplates {
		claim := c.claims[claimName(template.Name, c.set.Name, action.Ordinal)]
		if claim == nil {
			continue
		}
		if owner := foreignController(claim, c.set, pod); owner != nil {
			c.event(claim, corev1.EventTypeWarning, "ConflictingController", "Delete", "claim %s stays: %s %s controls it", claim.Name, owner.Kind, owner.Name)
		}
	}
}

// costsNothing says whether a pod may be taken down without the budget, for it was not
// Ready when it was judged. Such a pod is written only as it was judged: it may be Ready
// by now.
func costsNothing(pod *corev1.Pod) bool {
	ready, _ := readiness(pod)
	return !ready
}

func (c *PodControl) evict(ctx context.Context, action Action, pod *corev1.Pod) error {
	return c.Client.SubResource("eviction").Create(ctx, pod.DeepCopy(), &policyv1.Eviction{
		ObjectMeta:    metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name},
		DeleteOptions: &metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &action.UID}},
	})
}

// patch changes the very pod that was judged. A strategic merge is the cheapest way for
// the API server: it does not encode the pod to patch it.
func (c *PodControl) patch(ctx context.Context, action Action, pod *corev1.Pod, change map[string]any) error {
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

// changed notes what the cache is to show after a pod was written, if it was.
func (c *PodControl) changed(pod, after *corev1.Pod, err error) error {
	switch {
	case err == nil:
		c.Expectations.expectVersion(c.key(), after, c.Now())
	case unsettled(err):
		c.Expectations.expectAnswer(c.key(), pod, c.Now())
	}
	return client.IgnoreNotFound(err)
}

// ownClaims gives the claims of a pod their owners. One that is being deleted goes with the pod,
// whoever owns it.
func (c claimControl) ownClaims(ctx context.Context, ordinal int32, pod *corev1.Pod) error {
	spec, err := SpecOf(c.set)
	if err != nil {
		return err
	}
	owned := spec.Owns(ordinal)
	for _, template := range c.set.Spec.VolumeClaimTemplates {
		claim := c.claims[claimName(template.Name, c.set.Name, ordinal)]
		if claim == nil || claimMatches(c.set, claim, pod, owned) {
			continue
		}
		next := claim.DeepCopy()
		setOwners(next, wantedOwners(c.set, claim, owned), c.set, pod)
		if owned {
			delete(next.Annotations, api.SurgeAnnotationKey)
		}
		if err := c.Client.Patch(ctx, next, client.MergeFromWithOptions(claim, client.MergeFromWithOptimisticLock{})); err != nil {
			return fmt.Errorf("owners of claim %s: %w", claim.Name, err)
		}
	}
	return nil
}

// makeClaims makes the claims that a pod waits for: those of its ordinal, or, of one that stands
// in, those that go with it.
func (c claimControl) makeClaims(ctx context.Context, ordinal int32, pod *corev1.Pod) error {
	spec, err := SpecOf(c.set)
	switch {
	case err != nil:
		return err
	case spec.Owns(ordinal):
		return c.createMissing(ctx, ordinal)
	default:
		return c.createTemporary(ctx, ordinal, pod)
	}
}

// growClaims asks for the larger size that the templates ask for, of the claims that can be asked.
func (c claimControl) growClaims(ctx context.Context, ordinal int32) error {
	for i := range c.set.Spec.VolumeClaimTemplates {
		template := &c.set.Spec.VolumeClaimTemplates[i]
		claim := c.claims[claimName(template.Name, c.set.Name, ordinal)]
		if claim == nil {
			continue
		}
		if growthState(template, claim) != ToGrow {
			continue
		}
		next := claim.DeepCopy()
		next.Spec.Resources.Requests = *growth(template, claim)
		if err := c.Client.Patch(ctx, next, client.MergeFromWithOptions(claim, client.MergeFromWithOptimisticLock{})); err != nil {
			c.event(claim, corev1.EventTypeWarning, "FailedUpdatePVC", "Grow", "claim %s: %v", claim.Name, err)
			return fmt.Errorf("growing claim %s: %w; does its StorageClass allow volume expansion? Set allowVolumeExpansion: true on it, or spec.volumeClaimUpdateStrategy.type: %s to go on with the claims as they are", claim.Name, err, api.OnClaimDelete)
		}
	}
	return nil
}

// event tells of the set. What else it is about tells it from others of its reason: those
// that differ only in their text are counted as one.
func (c *PodControl) event(about client.Object, kind, reason, action, note string, args ...any) {
	c.Events.Eventf(c.set, about, kind, reason, action, note, args...)
}
