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
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "github.com/sliceshift/sliceshift/slices/v1alpha1"
)

// hands carries actions out for one StatefulSet.
type hands struct {
	seen
	client client.Client
	// live reads from the API server.
	live   client.Reader
	events events.EventRecorder
	ledger *ledger
	now    func() time.Time
	pods   map[int32]*corev1.Pod
	// unwritten is why something in the history could not be written that no pod waits for.
	unwritten error
	// held are the holds of the decision that is carried out.
	held []Hold
	// refused is true when the budget did not let a pod go: it is asked again later.
	refused atomic.Bool
	// unpulled are the UIDs of pods beside which no pod that pulls images could be made.
	unpulled sync.Map
}

// one carries out one action on a pod; nil: there is none.
func (h *hands) one(ctx context.Context, action Action, pod *corev1.Pod) error {
	if action.Verb != Create && (pod == nil || pod.UID != action.UID) {
		return nil // it is gone meanwhile
	}
	switch action.Verb {
	case Create:
		return h.create(ctx, action)
	case Delete:
		return h.delete(ctx, action, pod)
	case Announce:
		return h.announce(ctx, action, pod)
	case Relabel:
		return h.patch(ctx, action, pod, map[string]any{"metadata": map[string]any{"labels": map[string]any{appsv1.StatefulSetRevisionLabel: action.Revision}}})
	case CreateClaims:
		return h.makeClaims(ctx, action.Ordinal, pod)
	case OwnClaims:
		return h.ownClaims(ctx, action.Ordinal, pod)
	case Repair:
		return h.patch(ctx, action, pod, map[string]any{"metadata": map[string]any{"labels": identityLabels(h.set.Name, action.Ordinal)}})
	case GrowClaims:
		return h.growClaims(ctx, action.Ordinal)
	case BeginInPlace:
		return h.beginInPlace(ctx, action, pod)
	case PatchInPlace:
		return h.patchInPlace(ctx, action, pod)
	case FinishInPlace:
		return h.finishInPlace(ctx, action, pod)
	case tellState:
		return h.tellState(ctx, action, pod)
	case PrePull:
		return h.prePull(ctx, action, pod)
	case openGate, closeGate: // what they write is what is written next: chain carries them out
	}
	return fmt.Errorf("unknown verb %q", action.Verb)
}

// announce writes why a pod goes; without a reason it takes back what was written.
func (h *hands) announce(ctx context.Context, action Action, pod *corev1.Pod) error {
	annotations := map[string]any{api.TerminationReasonAnnotationKey: nil, api.TerminationTimeAnnotationKey: nil}
	if action.Reason != "" {
		annotations[api.TerminationReasonAnnotationKey] = string(action.Reason)
		annotations[api.TerminationTimeAnnotationKey] = h.now().UTC().Format(time.RFC3339Nano)
	}
	metadata := map[string]any{"annotations": annotations}
	if tellsStates(h.set) && h.set.Spec.Lifecycle != nil && h.set.Spec.Lifecycle.PreDelete != nil {
		next := pod.DeepCopy()
		metav1.SetMetaDataAnnotation(&next.ObjectMeta, api.TerminationReasonAnnotationKey, string(action.Reason))
		metadata["labels"] = map[string]any{api.LifecycleStateLabelKey: string(lifecycleState(h.set, next, false))}
	}
	return h.patch(ctx, action, pod, map[string]any{"metadata": metadata})
}

func (h *hands) key() types.NamespacedName { return client.ObjectKeyFromObject(h.set) }

func (h *hands) create(ctx context.Context, action Action) error {
	template := h.templates[action.Revision]
	if template == nil {
		return fmt.Errorf("revision %s does not exist", action.Revision)
	}
	spec, err := SpecOf(h.set)
	if err != nil {
		return err
	}
	pod := newPod(h.set, template, action.Revision, action.Ordinal)
	labelState(h.set, pod)
	if !spec.Owns(action.Ordinal) {
		return h.createStandIn(ctx, action.Ordinal, pod)
	}
	if err := h.createClaims(ctx, action.Ordinal); err != nil {
		h.event(pod, corev1.EventTypeWarning, "FailedCreate", "Create", "claims of pod %s: %v", pod.Name, err)
		return err
	}
	return h.createPod(ctx, pod)
}

func (h *hands) createPod(ctx context.Context, pod *corev1.Pod) error {
	if err := h.client.Create(ctx, pod); err != nil {
		h.event(pod, corev1.EventTypeWarning, "FailedCreate", "Create", "pod %s: %v", pod.Name, err)
		return err
	}
	h.ledger.wrote(h.key(), pod, h.now())
	h.event(pod, corev1.EventTypeNormal, "SuccessfulCreate", "Create", "created pod %s", pod.Name)
	return nil
}

// createClaims makes the claims that a new pod lacks. One that is being deleted is waited
// for: a pod that mounts it would hold it, and lose it in the end.
func (h *hands) createClaims(ctx context.Context, ordinal int32) error {
	for _, template := range h.set.Spec.VolumeClaimTemplates {
		if have := h.claims[claimName(template.Name, h.set.Name, ordinal)]; have != nil && have.DeletionTimestamp != nil {
			return fmt.Errorf("claim %s is being deleted", have.Name)
		}
	}
	return h.createMissing(ctx, ordinal)
}

func (h *hands) createMissing(ctx context.Context, ordinal int32) error {
	for _, claim := range h.missingClaims(ordinal) {
		setOwners(claim, ownersOf(h.set, false), h.set, &corev1.Pod{})
		if err := h.client.Create(ctx, claim); err != nil && !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("creating claim %s: %w", claim.Name, err)
		}
	}
	return nil
}

// missingClaims are the claims that an ordinal is to have and has not, to be made.
func (h *hands) missingClaims(ordinal int32) (missing []*corev1.PersistentVolumeClaim) {
	for i := range h.set.Spec.VolumeClaimTemplates {
		if claim := newClaim(h.set, &h.set.Spec.VolumeClaimTemplates[i], ordinal); h.claims[claim.Name] == nil {
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
func (h *hands) delete(ctx context.Context, action Action, pod *corev1.Pod) error {
	conditions := client.Preconditions{UID: &action.UID}
	if costsNothing(pod) {
		version := h.ledger.newest(h.key(), pod)
		conditions.ResourceVersion = &version
	}
	remove := func() error { return h.client.Delete(ctx, pod.DeepCopy(), conditions) }
	byBudget := action.Reason == api.TerminationUpdate || action.Reason == api.TerminationDeletion
	if h.set.Annotations[api.MigratingAnnotationKey] != "" && byBudget && !costsNothing(pod) {
		remove = func() error { return h.evict(ctx, action, pod) }
	}
	err := remove()
	if apierrors.IsTooManyRequests(err) {
		h.refused.Store(true)
		return nil
	}
	if err != nil && !apierrors.IsNotFound(err) {
		h.event(pod, corev1.EventTypeWarning, "FailedDelete", "Delete", "pod %s: %v", pod.Name, err)
		return err
	}
	h.ledger.deleted(h.key(), pod.Name, pod.UID, h.now())
	h.tellOfClaims(action, pod)
	h.event(pod, corev1.EventTypeNormal, "SuccessfulDelete", "Delete", "deleted pod %s (%s)", pod.Name, cmp.Or(string(action.Reason), "it has ended"))
	return nil
}

// tellOfClaims says which claims outlive their ordinal against the retention policy, for
// somebody else controls them.
func (h *hands) tellOfClaims(action Action, pod *corev1.Pod) {
	spec, err := SpecOf(h.set)
	if err != nil || !ownersOf(h.set, !spec.Owns(action.Ordinal)).pod {
		return
	}
	for _, template := range h.set.Spec.VolumeClaimTemplates {
		claim := h.claims[claimName(template.Name, h.set.Name, action.Ordinal)]
		if claim == nil {
			continue
		}
		if owner := foreignController(claim, h.set, pod); owner != nil {
			h.event(claim, corev1.EventTypeWarning, "ConflictingController", "Delete", "claim %s stays: %s %s controls it", claim.Name, owner.Kind, owner.Name)
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

func (h *hands) evict(ctx context.Context, action Action, pod *corev1.Pod) error {
	return h.client.SubResource("eviction").Create(ctx, pod.DeepCopy(), &policyv1.Eviction{
		ObjectMeta:    metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name},
		DeleteOptions: &metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &action.UID}},
	})
}

// patch changes the very pod that was judged. A strategic merge is the cheapest way for
// the API server: it does not encode the pod to patch it.
func (h *hands) patch(ctx context.Context, action Action, pod *corev1.Pod, change map[string]any) error {
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
	if err := h.client.Patch(ctx, patched, client.RawPatch(types.StrategicMergePatchType, data)); err != nil {
		return client.IgnoreNotFound(err)
	}
	h.ledger.wrote(h.key(), patched, h.now())
	return nil
}

// ownClaims gives the claims of a pod their owners. One that is being deleted goes with the pod,
// whoever owns it.
func (h *hands) ownClaims(ctx context.Context, ordinal int32, pod *corev1.Pod) error {
	spec, err := SpecOf(h.set)
	if err != nil {
		return err
	}
	owned := spec.Owns(ordinal)
	for _, template := range h.set.Spec.VolumeClaimTemplates {
		claim := h.claims[claimName(template.Name, h.set.Name, ordinal)]
		if claim == nil || h.claimMatches(claim, pod, owned) {
			continue
		}
		next := claim.DeepCopy()
		setOwners(next, h.wants(claim, owned), h.set, pod)
		if owned {
			delete(next.Annotations, api.SurgeAnnotationKey)
		}
		if err := h.client.Patch(ctx, next, client.MergeFromWithOptions(claim, client.MergeFromWithOptimisticLock{})); err != nil {
			return fmt.Errorf("owners of claim %s: %w", claim.Name, err)
		}
	}
	return nil
}

// makeClaims makes the claims that a pod waits for: those of its ordinal, or, of one that stands
// in, those that go with it.
func (h *hands) makeClaims(ctx context.Context, ordinal int32, pod *corev1.Pod) error {
	spec, err := SpecOf(h.set)
	switch {
	case err != nil:
		return err
	case spec.Owns(ordinal):
		return h.createMissing(ctx, ordinal)
	default:
		return h.createTemporary(ctx, ordinal, pod)
	}
}

// growClaims asks for the larger size that the templates ask for, of the claims that can be asked.
func (h *hands) growClaims(ctx context.Context, ordinal int32) error {
	for i := range h.set.Spec.VolumeClaimTemplates {
		template := &h.set.Spec.VolumeClaimTemplates[i]
		claim := h.claims[claimName(template.Name, h.set.Name, ordinal)]
		if claim == nil {
			continue
		}
		if growthState(template, claim) != ToGrow {
			continue
		}
		next := claim.DeepCopy()
		next.Spec.Resources.Requests = *growth(template, claim)
		if err := h.client.Patch(ctx, next, client.MergeFromWithOptions(claim, client.MergeFromWithOptimisticLock{})); err != nil {
			h.event(claim, corev1.EventTypeWarning, "FailedUpdatePVC", "Grow", "claim %s: %v", claim.Name, err)
			return fmt.Errorf("growing claim %s: %w; does its StorageClass allow volume expansion? Set allowVolumeExpansion: true on it, or spec.volumeClaimUpdateStrategy.type: %s to go on with the claims as they are", claim.Name, err, api.OnClaimDelete)
		}
	}
	return nil
}

// event tells of the set. What else it is about tells it from others of its reason: those
// that differ only in their text are counted as one.
func (h *hands) event(about client.Object, kind, reason, action, note string, args ...any) {
	h.events.Eventf(h.set, about, kind, reason, action, note, args...)
}
