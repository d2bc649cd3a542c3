package execute

import (
	"context"
	"errors"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "github.com/sliceshift/sliceshift/api/apps/v1alpha1"
	"github.com/sliceshift/sliceshift/slices/history"
	"github.com/sliceshift/sliceshift/slices/observe"
)

// Index fields of pods.
const (
	// OwnerIndex is the UID of a pod's controller, or orphans if it has none.
	OwnerIndex = "sliceshift.owner"
	orphans    = "none"
)

// OwnerOf returns the value of OwnerIndex for an object.
func OwnerOf(object client.Object) []string {
	if owner := metav1.GetControllerOf(object); owner != nil {
		return []string{string(owner.UID)}
	}
	return []string{orphans}
}

// Writer writes the pods and claims of StatefulSets.
type Writer struct {
	// Client reads from the cache and writes to the API server.
	Client client.Client
	// Live reads from the API server.
	Live   client.Reader
	Events events.EventRecorder
	// Expectations are the writes that the cache does not show yet.
	Expectations *Expectations
	Now          func() time.Time
}

// AdoptPods returns the pods of a set by ordinal. It adopts orphans that the selector matches. It releases pods whose labels
// do not match any more, and pods whose name has no ordinal.
func (w Writer) AdoptPods(ctx context.Context, set *api.StatefulSet) (map[int32]*corev1.Pod, error) {
	selector, err := metav1.LabelSelectorAsSelector(set.Spec.Selector)
	if err != nil {
		return nil, err
	}
	pods := map[int32]*corev1.Pod{}
	for _, owner := range []string{string(set.UID), orphans} {
		var list corev1.PodList
		// The listed objects belong to the cache and must not be modified.
		err := w.Client.List(ctx, &list, client.InNamespace(set.Namespace), client.MatchingFields{OwnerIndex: owner}, client.UnsafeDisableDeepCopy)
		if err != nil {
			return nil, err
		}
		for i := range list.Items {
			pod := &list.Items[i]
			ordinal, named := observe.OrdinalOf(set.Name, pod.Name)
			mine, err := w.claimPod(ctx, set, pod, named && selector.Matches(labels.Set(pod.Labels)))
			if err != nil {
				return nil, err
			}
			if mine != nil {
				pods[ordinal] = mine
			}
		}
	}
	return pods, nil
}

// claimPod adopts or releases a pod, and returns it if it belongs to the set.
func (w Writer) claimPod(ctx context.Context, set *api.StatefulSet, pod *corev1.Pod, matches bool) (*corev1.Pod, error) {
	owned := metav1.IsControlledBy(pod, set)
	switch {
	case owned && matches:
		return pod, nil
	case owned && set.DeletionTimestamp != nil:
		return nil, nil
	case owned:
		return nil, w.release(ctx, set, pod)
	case !matches || pod.DeletionTimestamp != nil || set.DeletionTimestamp != nil:
		return nil, nil
	default:
		return w.adopt(ctx, set, pod)
	}
}

// adopt makes the set the controller of an orphan. It first reads the set from the API server, because the cache may not
// show a deletion yet, and a set in deletion must not adopt.
func (w Writer) adopt(ctx context.Context, set *api.StatefulSet, pod *corev1.Pod) (*corev1.Pod, error) {
	if err := w.alive(ctx, set); err != nil {
		return nil, err
	}
	next := pod.DeepCopy()
	next.OwnerReferences = append(without(next.OwnerReferences, set), *metav1.NewControllerRef(set, history.Kind))
	if err := w.Client.Patch(ctx, next, client.MergeFromWithOptions(pod, client.MergeFromWithOptimisticLock{})); err != nil {
		return nil, client.IgnoreNotFound(err)
	}
	w.Expectations.expectVersion(client.ObjectKeyFromObject(set), next, w.Now())
	return next, nil
}

// alive returns nil if the API server has the same set and it is not being deleted.
func (w Writer) alive(ctx context.Context, set *api.StatefulSet) error {
	var live api.StatefulSet
	if err := w.Live.Get(ctx, client.ObjectKeyFromObject(set), &live); err != nil {
		return err
	}
	if live.UID != set.UID || live.DeletionTimestamp != nil {
		return apierrors.NewConflict(api.GroupVersion.WithResource("statefulsets").GroupResource(), set.Name, errors.New("it is being deleted: nothing is adopted"))
	}
	return nil
}

func (w Writer) release(ctx context.Context, set *api.StatefulSet, pod *corev1.Pod) error {
	next := pod.DeepCopy()
	next.OwnerReferences = without(next.OwnerReferences, set)
	return client.IgnoreNotFound(w.Client.Patch(ctx, next, client.MergeFromWithOptions(pod, client.MergeFromWithOptimisticLock{})))
}

// without returns the owners except the set.
func without(owners []metav1.OwnerReference, set *api.StatefulSet) []metav1.OwnerReference {
	return slices.DeleteFunc(owners, func(r metav1.OwnerReference) bool { return r.UID == set.UID })
}
