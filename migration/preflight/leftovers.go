package preflight

import (
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/dependencies"
	"github.com/sliceshift/sliceshift/migration/endpoint"
	"github.com/sliceshift/sliceshift/migration/plan"
	judging "github.com/sliceshift/sliceshift/migration/planner"
	"github.com/sliceshift/sliceshift/migration/world"
	"github.com/sliceshift/sliceshift/pdb"
	"github.com/sliceshift/sliceshift/volumes"
	"github.com/sliceshift/sliceshift/volumes/snapshot/manifest"
)

// beyond is how many ordinals above both slices are checked, because a former migration may have moved more than
// exist now.
const beyond = 256

// leftKinds lists the kinds of objects that a migration keeps beside a claim, each with its label. Kinds of snapshots
// are read only if that is allowed: a move without snapshots has no right to read them.
var leftKinds = []struct {
	kind     schema.GroupVersionKind
	resource string
	global   bool
}{
	{corev1.SchemeGroupVersion.WithKind("PersistentVolumeClaim"), "pvc", false},
	{corev1.SchemeGroupVersion.WithKind("Pod"), "pod", false},
	{manifest.SnapshotKind, "volumesnapshot", false},
	{manifest.ContentKind, "volumesnapshotcontent", true},
}

// leftovers finds, on both sides, objects that other migrations have left for ordinals of this StatefulSet.
func (e *Inspector) leftovers(ctx context.Context, subject Subject) ([]plan.Finding, error) {
	m := subject.Migration
	s := plan.Snapshot{
		UID: m.UID, Spec: world.SpecOf(m, e.SameCluster()),
		Source: world.SideOfSet(m, e.Source, subject.Source), Destination: world.SideOfSet(m, e.Destination, subject.Destination),
	}
	var findings []plan.Finding
	for _, at := range []endpoint.Endpoint{e.Source, e.Destination} {
		f := former{at: at, uid: m.UID, templates: world.ClaimTemplates(subject.Source), end: max(s.Source.Set.End(), s.Destination.Set.End()) + beyond}
		left, unlisted, err := f.objects(ctx)
		if err != nil {
			return nil, err
		}
		if unlisted && moves(m, api.MethodSnapshot) {
			findings = append(findings, unread(at, "list volumesnapshots", "no snapshot of a former move is left")...)
		}
		findings = append(findings, judging.Leftovers(s, at.Side, left)...)
		budgets, err := leftBudgets(ctx, s, at, subject.Source.Spec.Template.Labels)
		if err != nil {
			return nil, err
		}
		findings = append(findings, budgets...)
	}
	return findings, nil
}

// former finds leftovers of other migrations on a side.
type former struct {
	at        endpoint.Endpoint
	uid       types.UID
	templates []string
	// end is the first ordinal that is not checked.
	end int32
}

// objects returns the leftovers. unlisted is true if VolumeSnapshots may not be listed.
func (f former) objects(ctx context.Context) (left []plan.Leftover, unlisted bool, err error) {
	for _, of := range leftKinds {
		list := &metav1.PartialObjectMetadataList{}
		list.SetGroupVersionKind(of.kind.GroupVersion().WithKind(of.kind.Kind + "List"))
		options := []client.ListOption{client.HasLabels{api.MigrationLabelKey}}
		if !of.global {
			options = append(options, client.InNamespace(f.at.Namespace))
		}
		err := f.at.Live.List(ctx, list, options...)
		if of.kind.Group == manifest.Group && (meta.IsNoMatchError(err) || apierrors.IsNotFound(err) || apierrors.IsForbidden(err)) {
			unlisted = unlisted || !of.global && apierrors.IsForbidden(err)
			continue
		}
		if err != nil {
			return nil, false, err
		}
		for i := range list.Items {
			if ordinal, found := f.ordinalBeside(&list.Items[i]); found {
				left = append(left, plan.Leftover{
					Resource: of.resource, Name: list.Items[i].Name, Global: of.global, Ordinal: ordinal, Filling: true,
					By: types.UID(list.Items[i].Labels[api.MigrationLabelKey]),
				})
			}
		}
	}
	services, err := f.services(ctx)
	return append(left, services...), unlisted, err
}

// ordinalBeside returns the ordinal whose claim the object of another migration is beside. An object that is being
// deleted is not a leftover.
func (f former) ordinalBeside(object *metav1.PartialObjectMetadata) (int32, bool) {
	by := types.UID(object.Labels[api.MigrationLabelKey])
	if by == f.uid || object.DeletionTimestamp != nil || object.Annotations[api.LeftOutAnnotationKey] != "" {
		return 0, false
	}
	for ordinal := range f.end {
		beside := slices.ContainsFunc(f.templates, func(template string) bool {
			claim := volumes.Ref{Namespace: f.at.Namespace, Name: plan.ClaimName(template, f.at.Set, ordinal)}
			return volumes.KeptBeside(object.Name, claim, by)
		})
		if beside {
			return ordinal, true
		}
	}
	return 0, false
}

// services returns the Services that other migrations have created, beside a claim or with the name of an ordinal.
func (f former) services(ctx context.Context) ([]plan.Leftover, error) {
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("ServiceList"))
	if err := f.at.Live.List(ctx, list, client.InNamespace(f.at.Namespace)); err != nil {
		return nil, err
	}
	var left []plan.Leftover
	for i := range list.Items {
		object := &list.Items[i]
		if ordinal, found := f.ordinalBeside(object); found {
			left = append(left, plan.Leftover{Resource: "service", Name: object.Name, Ordinal: ordinal, Filling: true, By: types.UID(object.Labels[api.MigrationLabelKey])})
			continue
		}
		by := types.UID(object.Annotations[api.OwnerAnnotationKey])
		ordinal, named := dependencies.OrdinalOf(f.at.Set, object.Name)
		if named && by != "" && by != f.uid && object.DeletionTimestamp == nil && object.Annotations[api.LeftOutAnnotationKey] == "" {
			left = append(left, plan.Leftover{Resource: "service", Name: object.Name, Ordinal: ordinal, By: by})
		}
	}
	return left, nil
}

// leftBudgets finds PodDisruptionBudgets of the pods on a side that another migration has not restored.
func leftBudgets(ctx context.Context, s plan.Snapshot, at endpoint.Endpoint, pods labels.Set) ([]plan.Finding, error) {
	var list policyv1.PodDisruptionBudgetList
	if err := at.Live.List(ctx, &list, client.InNamespace(at.Namespace)); err != nil {
		return nil, err
	}
	var findings []plan.Finding
	for i := range list.Items {
		budget := &list.Items[i]
		fence, _ := pdb.Unmark(budget.Annotations[api.BudgetAnnotationKey])
		view := plan.Budget{
			Name:   budget.Name,
			Form:   pdb.Form{MinAvailable: budget.Spec.MinAvailable, MaxUnavailable: budget.Spec.MaxUnavailable},
			Author: pdb.Parse(budget.Annotations[api.AuthorBudgetAnnotationKey]),
		}
		if selector, err := metav1.LabelSelectorAsSelector(budget.Spec.Selector); err == nil && selector.Matches(pods) {
			findings = append(findings, judging.LeftBudgets(s, at.Side, view, api.FenceOwner(fence))...)
		}
	}
	return findings, nil
}
