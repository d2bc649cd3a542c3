package slices

import (
	"context"
	"errors"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "github.com/sliceshift/sliceshift/slices/v1alpha1"
)

// Index fields of pods.
const (
	// ownerIndex is the UID of a pod's controller; orphans for those that have none.
	ownerIndex = "sliceshift.owner"
	orphans    = "none"
)

func ownerOf(object client.Object) []string {
	if owner := metav1.GetControllerOf(object); owner != nil {
		return []string{string(owner.UID)}
	}
	return []string{orphans}
}

// podsOf are the pods of a set by ordinal: its own, and after adoption the orphans
// that its selector matches. Its own whose labels do not match any more are released, and
// those that have a name of no ordinal.
func (r *Reconciler) podsOf(ctx context.Context, set *api.StatefulSet) (map[int32]*corev1.Pod, error) {
	selector, err := metav1.LabelSelectorAsSelector(set.Spec.Selector)
	if err != nil {
		return nil, err
	}
	pods := map[int32]*corev1.Pod{}
	for _, owner := range []string{string(set.UID), orphans} {
		var list corev1.PodList
		// What is listed is the cache's own: nothing here changes a pod in place.
		err := r.Client.List(ctx, &list, client.InNamespace(set.Namespace), client.MatchingFields{ownerIndex: owner}, client.UnsafeDisableDeepCopy)
		if err != nil {
			return nil, err
		}
		for i := range list.Items {
			pod := &list.Items[i]
			ordinal, named := ordinalOf(set.Name, pod.Name)
			kept, err := r.keep(ctx, set, pod, named && selector.Matches(labels.Set(pod.Labels)))
			if err != nil {
				return nil, err
			}
			if kept != nil {
				pods[ordinal] = kept
			}
		}
	}
	return pods, nil
}

// keep adopts or releases a pod, and returns it when it is the set's.
func (r *Reconciler) keep(ctx context.Context, set *api.StatefulSet, pod *corev1.Pod, matches bool) (*corev1.Pod, error) {
	owned := metav1.IsControlledBy(pod, set)
	switch {
	case owned && matches:
		return pod, nil
	case owned && set.DeletionTimestamp != nil:
		return nil, nil
	case owned:
		return nil, r.release(ctx, set, pod)
	case !matches || pod.DeletionTimestamp != nil || set.DeletionTimestamp != nil:
		return nil, nil
	default:
		return r.adopt(ctx, set, pod)
	}
}

// adopt makes the set the controller of an orphan, after a look at the set itself: one
// that is being deleted adopts nothing, whatever the cache says.
func (r *Reconciler) adopt(ctx context.Context, set *api.StatefulSet, pod *corev1.Pod) (*corev1.Pod, error) {
	if err := r.alive(ctx, set); err != nil {
		return nil, err
	}
	next := pod.DeepCopy()
	next.OwnerReferences = append(without(next.OwnerReferences, set), *metav1.NewControllerRef(set, kind))
	if err := r.Client.Patch(ctx, next, client.MergeFromWithOptions(pod, client.MergeFromWithOptimisticLock{})); err != nil {
		return nil, client.IgnoreNotFound(err)
	}
	r.ledger.wrote(client.ObjectKeyFromObject(set), next, r.now())
	return next, nil
}

// alive reads the set from the API server: nil when it is the one and not being
// deleted.
func (r *Reconciler) alive(ctx context.Context, set *api.StatefulSet) error {
	var live api.StatefulSet
	if err := r.Live.Get(ctx, client.ObjectKeyFromObject(set), &live); err != nil {
		return err
	}
	if live.UID != set.UID || live.DeletionTimestamp != nil {
		return apierrors.NewConflict(api.GroupVersion.WithResource("statefulsets").GroupResource(), set.Name, errors.New("it is being deleted: nothing is adopted"))
	}
	return nil
}

func (r *Reconciler) release(ctx context.Context, set *api.StatefulSet, pod *corev1.Pod) error {
	next := pod.DeepCopy()
	next.OwnerReferences = without(next.OwnerReferences, set)
	return client.IgnoreNotFound(r.Client.Patch(ctx, next, client.MergeFromWithOptions(pod, client.MergeFromWithOptimisticLock{})))
}

// without are the owners of a pod but for the set.
func without(owners []metav1.OwnerReference, set *api.StatefulSet) []metav1.OwnerReference {
	return slices.DeleteFunc(owners, func(r metav1.OwnerReference) bool { return r.UID == set.UID })
}
