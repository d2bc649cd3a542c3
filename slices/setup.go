package slices

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	api "github.com/sliceshift/sliceshift/api/apps/v1alpha1"
	"github.com/sliceshift/sliceshift/slices/execute"
	"github.com/sliceshift/sliceshift/slices/history"
	"github.com/sliceshift/sliceshift/slices/observe"
)

// templateOfSet names a claim template and the set that has it.
type templateOfSet struct{ template, set string }

// claimNames returns the possible combinations of template and set of a claim's name. There are several, because both names
// may contain dashes. It returns none if the name does not end in an ordinal.
func claimNames(claim string) (all []templateOfSet) {
	last := strings.LastIndexByte(claim, '-')
	if last < 0 {
		return nil
	}
	if _, is := observe.OrdinalOf(claim[:last], claim); !is {
		return nil
	}
	for at := 1; at < last-1; at++ {
		if claim[at] == '-' {
			all = append(all, templateOfSet{template: claim[:at], set: claim[at+1 : last]})
		}
	}
	return all
}

// SetupWithManager registers the reconciler. At most concurrency sets are reconciled at once.
func (r *Reconciler) SetupWithManager(ctx context.Context, mgr ctrl.Manager, concurrency int) error {
	r.expectations, r.told, r.memory = execute.NewExpectations(), newModerate(r.Events, r.clock()), map[types.NamespacedName]memory{}
	asked, err := execute.AnsweredAtOnce(r.Client, mgr.GetConfig(), mgr.GetHTTPClient())
	if err != nil {
		return err
	}
	r.Client = asked
	if r.watches, err = newInputWatches(ctx, mgr); err != nil {
		return err
	}
	if err := mgr.GetFieldIndexer().IndexField(ctx, &corev1.Pod{}, execute.OwnerIndex, execute.OwnerOf); err != nil {
		return fmt.Errorf("indexing pods by their controller: %w", err)
	}
	return ctrl.NewControllerManagedBy(mgr).
		Named("slice").
		For(&api.StatefulSet{}, builder.WithPredicates(predicate.Or(predicate.GenerationChangedPredicate{}, predicate.AnnotationChangedPredicate{}, deletions(), rolledOut()))).
		Watches(&corev1.Pod{}, handler.EnqueueRequestsFromMapFunc(r.setsOfPod), builder.WithPredicates(podEvents())).
		Watches(&corev1.PersistentVolumeClaim{}, handler.EnqueueRequestsFromMapFunc(r.setsOfClaim), builder.WithPredicates(claimEvents())).
		WatchesRawSource(source.Channel(r.watches.changes, &handler.EnqueueRequestForObject{})).
		WithOptions(controller.Options{MaxConcurrentReconciles: concurrency, RateLimiter: r.patience()}).
		Complete(r)
}

// deletions passes the update that sets an object's deletion timestamp.
func deletions() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		return e.ObjectOld.GetDeletionTimestamp().IsZero() != e.ObjectNew.GetDeletionTimestamp().IsZero()
	}}
}

// rolledOut passes an update of status.currentRevision or status.failedRevision. The former current revision was kept until
// this update was visible, and may exceed revisionHistoryLimit now.
func rolledOut() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		before, was := e.ObjectOld.(*api.StatefulSet)
		after, is := e.ObjectNew.(*api.StatefulSet)
		return was && is && (before.Status.CurrentRevision != after.Status.CurrentRevision || before.Status.FailedRevision != after.Status.FailedRevision)
	}}
}

// podEvents passes updates that can change a decision. It drops, for example, scheduling and the preparations of the
// kubelet.
func podEvents() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		before, was := e.ObjectOld.(*corev1.Pod)
		after, is := e.ObjectNew.(*corev1.Pod)
		return !was || !is || observe.PodTells(before, after)
	}}
}

// claimEvents passes updates that can change a decision: a deleted claim, or a change of owners or size.
func claimEvents() predicate.Predicate {
	return predicate.Funcs{
		CreateFunc:  func(event.CreateEvent) bool { return false },
		GenericFunc: func(event.GenericEvent) bool { return false },
		UpdateFunc: func(e event.UpdateEvent) bool {
			before, was := e.ObjectOld.(*corev1.PersistentVolumeClaim)
			after, is := e.ObjectNew.(*corev1.PersistentVolumeClaim)
			return was && is && observe.ClaimTells(before, after)
		},
	}
}

// setsOfPod returns the set that controls a pod, or that created it to pull images. For an orphan, it returns all sets that
// would adopt it.
func (r *Reconciler) setsOfPod(ctx context.Context, object client.Object) []reconcile.Request {
	if name := object.GetLabels()[api.PrePullLabelKey]; name != "" {
		return []reconcile.Request{{NamespacedName: types.NamespacedName{Namespace: object.GetNamespace(), Name: name}}}
	}
	if owner := metav1.GetControllerOf(object); owner != nil {
		if owner.Kind != history.Kind.Kind || owner.APIVersion != history.Kind.GroupVersion().String() {
			return nil
		}
		return []reconcile.Request{{NamespacedName: types.NamespacedName{Namespace: object.GetNamespace(), Name: owner.Name}}}
	}
	return r.selecting(ctx, object)
}

// setsOfClaim returns the sets that have a claim of this name, regardless of its labels and creator.
func (r *Reconciler) setsOfClaim(ctx context.Context, object client.Object) []reconcile.Request {
	var requests []reconcile.Request
	for _, names := range claimNames(object.GetName()) {
		var set api.StatefulSet
		key := types.NamespacedName{Namespace: object.GetNamespace(), Name: names.set}
		if err := r.Client.Get(ctx, key, &set); err != nil {
			continue
		}
		if slices.ContainsFunc(set.Spec.VolumeClaimTemplates, func(t corev1.PersistentVolumeClaim) bool { return t.Name == names.template }) {
			requests = append(requests, reconcile.Request{NamespacedName: key})
		}
	}
	return requests
}

func (r *Reconciler) selecting(ctx context.Context, object client.Object) []reconcile.Request {
	var sets api.StatefulSetList
	if err := r.Client.List(ctx, &sets, client.InNamespace(object.GetNamespace())); err != nil {
		return nil
	}
	var requests []reconcile.Request
	for i := range sets.Items {
		selector, err := metav1.LabelSelectorAsSelector(sets.Items[i].Spec.Selector)
		if err == nil && !selector.Empty() && selector.Matches(labels.Set(object.GetLabels())) {
			requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&sets.Items[i])})
		}
	}
	return requests
}
