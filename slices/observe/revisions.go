package observe

import (
	"cmp"
	"context"
	"maps"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "github.com/sliceshift/sliceshift/api/apps/v1alpha1"
	"github.com/sliceshift/sliceshift/slices/decide"
	"github.com/sliceshift/sliceshift/slices/history"
	"github.com/sliceshift/sliceshift/slices/inputs"
)

// revisionsSeen are the revisions of a set.
type revisionsSeen struct {
	current, update string
	// failed is true when the roll-out of the update revision has failed and is rolled back.
	failed     bool
	collisions int32
	templates  map[string]*corev1.PodTemplateSpec
	inputs     map[string][]inputs.Record
	// blocked is why no pod may be updated, or empty.
	blocked string
	// relabel maps a revision to the equivalent one that is kept.
	relabel map[string]string
}

// merge sets SameAs of a pod whose revision has an equivalent that is kept.
func (r revisionsSeen) merge(view *decide.Pod) {
	to, merged := r.relabel[view.Revision]
	if !merged {
		return
	}
	view.SameAs = to
	if to == r.target() {
		view.Change = decide.Change{Same: true}
	}
}

// target returns the revision that pods get.
func (r revisionsSeen) target() string {
	return decide.Revisions{Current: r.current, Update: r.update, Failed: r.failed}.Target()
}

func (r revisionsSeen) view() decide.Revisions {
	current, update := r.templates[r.current], r.templates[r.update]
	return decide.Revisions{
		Current: r.current, Update: r.update, Failed: r.failed, Blocked: r.blocked, SameTemplate: equality.Semantic.DeepEqual(current, update),
		ReadsReason: readsReason(&current.Spec) || readsReason(&update.Spec),
	}
}

// stillFailed reports whether a revision that has failed is still that of the template, and is still rolled back. A kept
// equivalent counts as the same.
func (r revisionsSeen) stillFailed(failed string, onFailure api.OnFailure) bool {
	return failed != "" && cmp.Or(r.relabel[failed], failed) == r.update && r.update != r.current && onFailure == api.Rollback
}

// RevisionsOf returns the revisions in the labels of pods.
func RevisionsOf(pods map[int32]*corev1.Pod) []string {
	names := make([]string, 0, len(pods))
	for _, pod := range pods {
		names = append(names, pod.Labels[appsv1.StatefulSetRevisionLabel])
	}
	return names
}

func (r Reader) revisions(ctx context.Context) (revisionsSeen, error) {
	result, labels := r.History, RevisionsOf(r.Pods)
	found := revisionsSeen{
		current: result.Current.Name, update: result.Update.Name, collisions: result.CollisionCount,
		templates: map[string]*corev1.PodTemplateSpec{}, inputs: map[string][]inputs.Record{}, relabel: map[string]string{},
	}
	maps.Copy(found.relabel, result.Relabel)
	others, err := r.othersRevisions(ctx, labels)
	if err != nil {
		return revisionsSeen{}, err
	}
	for _, revision := range others {
		if history.Equivalent(r.Set, result.Update, revision) {
			found.relabel[revision.Name] = result.Update.Name
		}
	}
	found.failed = found.stillFailed(r.Failed, r.Spec.OnFailure)
	found.blocked = r.Inputs.blocks(found.target(), found.failed)
	for _, revision := range slices.Concat(result.Owned, others, []*appsv1.ControllerRevision{result.Current, result.Update}) {
		needed := revision == result.Current || revision == result.Update || slices.Contains(labels, revision.Name)
		if !needed || found.templates[revision.Name] != nil {
			continue
		}
		if found.templates[revision.Name], err = history.PodTemplate(revision); err != nil {
			return revisionsSeen{}, err
		}
		if found.inputs[revision.Name], err = inputs.RecordsOf(revision); err != nil {
			return revisionsSeen{}, err
		}
	}
	return found, nil
}

// othersRevisions returns the revisions that pods of the set name, but that the set does not own. A pod may be adopted
// before its revision. Its template is known from these revisions.
func (r Reader) othersRevisions(ctx context.Context, labels []string) ([]*appsv1.ControllerRevision, error) {
	names := sets.New(labels...).Delete("", r.History.Current.Name, r.History.Update.Name)
	for _, revision := range r.History.Owned {
		names.Delete(revision.Name)
	}
	var others []*appsv1.ControllerRevision
	for name := range names {
		revision := &appsv1.ControllerRevision{}
		err := r.Client.Get(ctx, client.ObjectKey{Namespace: r.Set.Namespace, Name: name}, revision)
		switch {
		case err == nil:
			others = append(others, revision)
		case !apierrors.IsNotFound(err):
			return nil, err
		}
	}
	return others, nil
}
