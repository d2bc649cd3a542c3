package slices

import (
	"context"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "github.com/sliceshift/sliceshift/api/apps/v1alpha1"
	"github.com/sliceshift/sliceshift/slices/decide"
	"github.com/sliceshift/sliceshift/slices/execute"
	"github.com/sliceshift/sliceshift/slices/history"
	"github.com/sliceshift/sliceshift/slices/observe"
)

// recorded is the history of a set, with the problems of its inputs.
type recorded struct {
	history.Result
	problems observe.InputProblems
	// again is when the inputs must be read again, or 0.
	again time.Duration
}

// record reads the inputs of a set, updates its history, and ensures the copies of the inputs. If the copies of a new revision
// cannot be created, the update revision stays the former one.
func (r *Reconciler) record(ctx context.Context, set *api.StatefulSet, pods []string) (recorded, error) {
	r.watches.want(set)
	seen := observe.ReadInputs(ctx, r.Live, set)
	store := history.Store{Client: r.Client, Live: r.Live, Inputs: history.Inputs{Records: seen.Records, Unknown: seen.Problem != ""}}
	if len(set.Spec.RevisionInputs) > 0 && set.DeletionTimestamp != nil {
		store.Unknown = true
	}
	result, err := store.Sync(ctx, set, pods)
	out := recorded{Result: result, problems: observe.InputProblems{Template: seen.Problem}}
	if set.DeletionTimestamp != nil || result.Update == nil && seen.Problem == "" {
		return out, err
	}
	problems := r.copies(ctx, set, out.Result, pods, seen)
	if result.Update != nil && result.Update.Name != set.Status.UpdateRevision && problems[result.Update.Name] != "" {
		out.problems.Template, store.Unknown = problems[result.Update.Name], true
		if out.Result, err = store.Sync(ctx, set, pods); err != nil && out.Update == nil {
			return out, err
		}
		problems = r.copies(ctx, set, out.Result, pods, seen)
	}
	out.problems.Revisions = problems
	switch {
	case out.problems.Template != "" || len(problems) > 0:
		out.again = inputsAgain
	case len(set.Spec.RevisionInputs) > 0:
		out.again = inputsEvery
	}
	return out, err
}

// copies ensures the copies of the inputs of the current and the update revision, and of the revisions that pods have or get
// by a new label. It returns the problems by revision.
func (r *Reconciler) copies(ctx context.Context, set *api.StatefulSet, result history.Result, pods []string, seen observe.InputsSeen) map[string]string {
	problems := map[string]string{}
	if result.Update == nil {
		return problems
	}
	names := sets.New(result.Update.Name, result.Current.Name).Insert(pods...)
	for _, name := range pods {
		names.Insert(result.Relabel[name])
	}
	revisions := append([]*appsv1.ControllerRevision{result.Update, result.Current}, result.Owned...)
	for _, revision := range revisions {
		if !names.Has(revision.Name) {
			continue
		}
		names.Delete(revision.Name)
		if problem := r.writer().Copies(ctx, set, revision, seen.Objects); problem != "" {
			problems[revision.Name] = problem
		}
	}
	return problems
}

// awaitInputs reports a set without any revision, because an input of its template cannot be had. It has no pods. After the
// deadline it is Stalled.
func (r *Reconciler) awaitInputs(ctx context.Context, set *api.StatefulSet, problem string) (ctrl.Result, error) {
	next := set.DeepCopy()
	status := &next.Status
	status.ObservedGeneration = set.Generation
	status.LabelSelector = metav1.FormatLabelSelector(set.Spec.Selector)
	if status.LastProgressTime == nil {
		status.LastProgressTime = &metav1.Time{Time: r.now().Truncate(time.Second)}
	}
	spec, err := decide.SpecOf(set)
	if err != nil {
		return ctrl.Result{}, err
	}
	late := spec.Deadline > 0 && r.now().Sub(status.LastProgressTime.Time) >= spec.Deadline
	message := "no pod is created: " + problem
	condition(set, status, api.ConditionReady, false, api.ReasonRevisionInput, message)
	condition(set, status, api.ConditionProgressing, !late, api.ReasonRevisionInput, message)
	meta.RemoveStatusCondition(&status.Conditions, api.ConditionReconciling)
	meta.RemoveStatusCondition(&status.Conditions, api.ConditionStalled)
	abnormal := api.ConditionReconciling
	if late {
		abnormal = api.ConditionStalled
	}
	condition(set, status, abnormal, true, api.ReasonRevisionInput, message)
	again := ctrl.Result{RequeueAfter: inputsAgain}
	if equality.Semantic.DeepEqual(set.Status, next.Status) {
		return again, nil
	}
	err = r.Client.Status().Update(ctx, next)
	execute.RecordWrite(writeStatus, err)
	if err != nil {
		return whenChanged(client.IgnoreNotFound(err))
	}
	known := r.recall(set)
	known.wrote(next, r.now())
	r.memorise(set, known)
	r.tellOfInputs(set, problem)
	return again, nil
}

// tellOfInputs sends an event when an input cannot be had, once for each reason.
func (r *Reconciler) tellOfInputs(set *api.StatefulSet, problem string) {
	known := r.recall(set)
	if known.blocked == problem {
		return
	}
	known.blocked = problem
	r.memorise(set, known)
	if problem != "" {
		r.told.Eventf(set, nil, corev1.EventTypeWarning, api.ReasonRevisionInput, "Update", "no pod is updated: %s", problem)
	}
}
