package slices

import (
	"context"
	"maps"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sliceshift/sliceshift/slices/history"
	api "github.com/sliceshift/sliceshift/slices/v1alpha1"
)

// revisionsSeen are the revisions of a set.
type revisionsSeen struct {
	current, update string
	collisions      int32
	// unwritten is why something in the history could not be written that no pod waits for.
	unwritten error
	templates map[string]*corev1.PodTemplateSpec
	// relabel leads from a revision to the one of the same meaning.
	relabel map[string]string
}

// merge tells a pod whose revision does not stay which one means the same.
func (r revisionsSeen) merge(view *Pod) {
	to, merged := r.relabel[view.Revision]
	if !merged {
		return
	}
	view.SameAs = to
	if to == r.update {
		view.Change = Change{Same: true}
	}
}

func (r revisionsSeen) view() Revisions {
	current, update := r.templates[r.current], r.templates[r.update]
	return Revisions{
		Current: r.current, Update: r.update, SameTemplate: equality.Semantic.DeepEqual(current, update),
		ReadsReason: readsReason(&current.Spec) || readsReason(&update.Spec),
	}
}

func (r *Reconciler) revisions(ctx context.Context, set *api.StatefulSet, pods map[int32]*corev1.Pod) (revisionsSeen, error) {
	labels := make([]string, 0, len(pods))
	for _, pod := range pods {
		labels = append(labels, pod.Labels[appsv1.StatefulSetRevisionLabel])
	}
	result, err := history.Store{Client: r.Client, Live: r.Live}.Sync(ctx, set, labels)
	if result.Update == nil {
		return revisionsSeen{}, err
	}
	found := revisionsSeen{
		unwritten: err, current: result.Current.Name, update: result.Update.Name, collisions: result.CollisionCount,
		templates: map[string]*corev1.PodTemplateSpec{}, relabel: map[string]string{},
	}
	maps.Copy(found.relabel, result.Relabel)
	others, err := r.othersRevisions(ctx, set, result, labels)
	if err != nil {
		return revisionsSeen{}, err
	}
	for _, revision := range others {
		if history.Matches(set, revision) {
			found.relabel[revision.Name] = result.Update.Name
		}
	}
	for _, revision := range slices.Concat(result.Owned, others, []*appsv1.ControllerRevision{result.Current, result.Update}) {
		needed := revision == result.Current || revision == result.Update || slices.Contains(labels, revision.Name)
		if !needed || found.templates[revision.Name] != nil {
			continue
		}
		template, err := history.Apply(revision)
		if err != nil {
			return revisionsSeen{}, err
		}
		found.templates[revision.Name] = &template
	}
	return found, nil
}

// othersRevisions are revisions that pods of the set name and that are not the set's: a
// pod that was left to it may come before its revision does. What such a pod is made of
// is known from them all the same.
func (r *Reconciler) othersRevisions(ctx context.Context, set *api.StatefulSet, known history.Result, labels []string) ([]*appsv1.ControllerRevision, error) {
	names := sets.New(labels...).Delete("", known.Current.Name, known.Update.Name)
	for _, revision := range known.Owned {
		names.Delete(revision.Name)
	}
	var others []*appsv1.ControllerRevision
	for name := range names {
		revision := &appsv1.ControllerRevision{}
		err := r.Client.Get(ctx, client.ObjectKey{Namespace: set.Namespace, Name: name}, revision)
		switch {
		case err == nil:
			others = append(others, revision)
		case !apierrors.IsNotFound(err):
			return nil, err
		}
	}
	return others, nil
}
