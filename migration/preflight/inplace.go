package preflight

import (
	"context"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/endpoint"
	"github.com/sliceshift/sliceshift/migration/outlook"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/migration/planner"
	"github.com/sliceshift/sliceshift/migration/preflight/writers"
	"github.com/sliceshift/sliceshift/volumes"
	"github.com/sliceshift/sliceshift/volumes/drift"
	"github.com/sliceshift/sliceshift/workload"
)

// Names of the checks of a change in place that package outlook does not have.
const (
	checkOwnerInPlace  = "owner in place"
	checkGitOpsInPlace = "GitOps in place"
	checkQuotaInPlace  = "quotas in place"
)

// besideOutlook are the checks of a change in place that need more than its state.
var besideOutlook = []Check{
	{
		Name: checkOwnerInPlace, Group: GroupInPlace,
		Looks:  "at the controller that owns the StatefulSet.",
		Why:    "An operator writes the claim templates, and would recreate the set with the former ones.",
		Remedy: "Change the storage in the operator's resource.",
	},
	{
		Name: checkGitOpsInPlace, Group: GroupInPlace,
		Looks:  "at the marks of Argo CD, Flux and Helm on the StatefulSet.",
		Why:    "The place that has the former claim templates applies them again, which fails, or recreates the set.",
		Remedy: "Write the new claim templates there when the set was recreated, and let the tool ignore them until then.",
	},
	{
		Name: checkQuotaInPlace, Group: GroupInPlace,
		Looks:  "at the ResourceQuotas of the namespace, and what the copies of one ordinal and larger claims use.",
		Why:    "Both volumes of an ordinal exist at the same time; without room for both it would be stopped and not start again.",
		Remedy: "Raise the quota until the end.",
	},
}

// InPlace returns the outlook of a change in place, with the findings of its checks. seen has the observed source. A cluster
// that does not answer is an error.
func (e *Inspector) InPlace(ctx context.Context, m *api.Migration, seen plan.Snapshot) (outlook.Plan, error) {
	set, err := e.Source.GetSet(ctx, e.Source.Live)
	if err != nil {
		return outlook.Plan{}, err
	}
	if set == nil {
		set = &appsv1.StatefulSet{}
		set.Namespace, set.Name = e.Source.Namespace, e.Source.Set
	}
	state, err := e.stateOf(ctx, m, set, seen)
	if err != nil {
		return outlook.Plan{}, err
	}
	state.Volumes = outlook.Choose(state)
	budget, findings := observedFindings(seen)
	if set.UID != "" {
		findings = append(findings, outlook.Findings(state)...)
		findings = append(findings, plan.OfCheck(checkOwnerInPlace, writers.OwnsTemplates(e.Source, set)...)...)
		findings = append(findings, plan.OfCheck(checkGitOpsInPlace, writers.Templates(e.Source, set)...)...)
		quotas, err := e.quotasInPlace(ctx, state)
		if err != nil {
			return outlook.Plan{}, err
		}
		findings = append(findings, plan.OfCheck(checkQuotaInPlace, quotas...)...)
	}
	return outlook.New(state, budget, NewReportInPlace(findings).Findings()), nil
}

// Chosen returns the volumes of a spec with a method each. A manifest, if there is one, adds the fields in which its claim
// templates differ from the present ones.
func (e *Inspector) Chosen(ctx context.Context, m *api.Migration, manifest []corev1.PersistentVolumeClaim) ([]api.VolumeSpec, error) {
	set, err := e.Source.GetSet(ctx, e.Source.Live)
	if err != nil || set == nil {
		return m.Spec.Volumes, err // the checks report that it does not exist
	}
	asked := m.DeepCopy()
	if len(manifest) > 0 {
		if asked.Spec.Volumes, err = outlook.OfManifest(set.Spec.VolumeClaimTemplates, manifest, asked.Spec.Volumes); err != nil {
			return nil, err
		}
	}
	state, err := e.stateOf(ctx, asked, set, plan.Snapshot{})
	return outlook.Choose(state), err
}

// observedFindings returns the disruption budget, and the findings about the source and its PodDisruptionBudget, which are
// those of a move.
func observedFindings(seen plan.Snapshot) (budget int32, found []plan.Finding) {
	if seen.Source.Set.Presence != plan.Seen {
		return 0, slices.DeleteFunc(planner.Preflight(seen), func(f plan.Finding) bool { return f.Check != plan.CheckSource })
	}
	source := slices.DeleteFunc(planner.Source(seen), func(f plan.Finding) bool {
		return f.Reason == api.ReasonClaimsDeletedOnScale // no ordinal is scaled down
	})
	found = plan.OfCheck(plan.CheckSource, source...)
	if len(seen.Source.Budgets) > 1 {
		return 0, append(found, plan.OfCheck(plan.CheckBudget, planner.SeveralBudgets(seen.Source))...)
	}
	if seen.Source.Set.Replicas == 0 {
		return 0, found
	}
	alone := seen
	alone.Destination = plan.Side{} // the set is counted once
	budget, finding := planner.Allowance(alone)
	if finding != nil {
		found = append(found, plan.OfCheck(plan.CheckBudget, *finding)...)
	}
	return budget, found
}

// stateOf reads the state of a change in place. What may not be read is nil.
func (e *Inspector) stateOf(ctx context.Context, m *api.Migration, set *appsv1.StatefulSet, seen plan.Snapshot) (outlook.State, error) {
	const margin = 10 // the default of the resource definition
	state := outlook.State{
		Cluster: e.Source.Cluster, Kubectl: e.Source.Kubectl(), Set: set, Resource: e.Source.Resource(), Own: e.Source.APIVersion == workload.SliceVersion,
		Volumes: m.Spec.Volumes, MarginPercent: margin, Outage: ptr.Deref(seen.Record.Outage, volumes.Outage{}),
	}
	if storage := m.Spec.Storage; storage != nil && storage.MarginPercent != nil {
		state.MarginPercent = *storage.MarginPercent
	}
	err := endpoint.Together(
		func() (err error) {
			state.Claims, err = e.claimsInPlace(ctx, set, outlook.Wanted(set.Spec.VolumeClaimTemplates, m.Spec.Volumes))
			return err
		},
		func() (err error) {
			state.Classes, err = e.classesInPlace(ctx, m)
			return err
		},
		func() (err error) {
			state.Pods, err = listed(ctx, e.Source.Live, &corev1.PodList{}, func(l *corev1.PodList) []corev1.Pod { return l.Items }, client.InNamespace(e.Source.Namespace))
			return err
		},
		func() (err error) {
			state.Nodes, err = listed(ctx, e.Source.Live, &corev1.NodeList{}, func(l *corev1.NodeList) []corev1.Node { return l.Items })
			return err
		},
	)
	return state, err
}

// listed returns the items of a list, not nil; or nil if it may not be read, or is not served.
func listed[L client.ObjectList, T any](ctx context.Context, from client.Reader, list L, items func(L) []T, options ...client.ListOption) ([]T, error) {
	err := from.List(ctx, list, options...)
	if apierrors.IsForbidden(err) || apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return append([]T{}, items(list)...), nil
}

// classesInPlace reads the classes. Those of attributes are only read if a spec or a template may name one.
func (e *Inspector) classesInPlace(ctx context.Context, m *api.Migration) (classes drift.Classes, err error) {
	classes.Storage, err = listed(ctx, e.Source.Live, &storagev1.StorageClassList{}, func(l *storagev1.StorageClassList) []storagev1.StorageClass { return l.Items })
	if err != nil || !slices.ContainsFunc(m.Spec.Volumes, func(v api.VolumeSpec) bool { return ptr.Deref(v.VolumeAttributesClassName, "") != "" }) {
		return classes, err
	}
	classes.Attributes, err = listed(ctx, e.Source.Live, &storagev1.VolumeAttributesClassList{}, func(l *storagev1.VolumeAttributesClassList) []storagev1.VolumeAttributesClass { return l.Items })
	return classes, err
}

// claimsInPlace reads the claims of all ordinals, and their volumes.
func (e *Inspector) claimsInPlace(ctx context.Context, set *appsv1.StatefulSet, wanted []corev1.PersistentVolumeClaim) ([]outlook.Claim, error) {
	var all []outlook.Claim
	var names []string
	start := int32(0)
	if set.Spec.Ordinals != nil {
		start = set.Spec.Ordinals.Start
	}
	for ordinal := start; ordinal < start+ptr.Deref(set.Spec.Replicas, 1); ordinal++ {
		for i := range wanted {
			name := plan.ClaimName(wanted[i].Name, set.Name, ordinal)
			names = append(names, name)
			all = append(all, outlook.Claim{Ordinal: ordinal, Name: name, Template: &wanted[i]})
		}
	}
	found, err := endpoint.GetAll[corev1.PersistentVolumeClaim](ctx, e.Source.Live, e.Source.Namespace, names)
	if err != nil {
		return nil, err
	}
	var disks []string
	for i := range all {
		all[i].Found = found[all[i].Name]
		if c := all[i].Found; c != nil && c.Spec.VolumeName != "" {
			disks = append(disks, c.Spec.VolumeName)
		}
	}
	bound, err := endpoint.GetAll[corev1.PersistentVolume](ctx, e.Source.Live, "", disks)
	if err != nil && !apierrors.IsForbidden(err) {
		return nil, err
	}
	for i := range all {
		if c := all[i].Found; c != nil {
			all[i].Volume = bound[c.Spec.VolumeName]
		}
	}
	return all, nil
}

// quotasInPlace finds a quota without room for the copies of one ordinal, and for the growth of all claims.
func (e *Inspector) quotasInPlace(ctx context.Context, s outlook.State) ([]plan.Finding, error) {
	need := demand{ordinals: 1, of: corev1.ResourceList{}}
	present := s.Set.Spec.VolumeClaimTemplates
	wanted := outlook.Wanted(present, s.Volumes)
	var filled []filledTemplate
	for i := range present {
		asked := api.AskedOf(s.Volumes, present[i].Name)
		if asked.Method.FillsSecond() {
			asked.Copy.Size, asked.Snapshot.Size = asked.Size, asked.Size
			filled = append(filled, filledTemplate{claim: present[i], asked: asked})
		}
		growth := wanted[i].Spec.Resources.Requests[corev1.ResourceStorage].DeepCopy()
		growth.Sub(present[i].Spec.Resources.Requests[corev1.ResourceStorage])
		if growth.Sign() > 0 {
			all := demand{ordinals: int64(ptr.Deref(s.Set.Spec.Replicas, 1)), of: need.of}
			all.add(corev1.ResourceRequestsStorage, growth)
		}
	}
	if len(filled) > 0 {
		need.filling(filled, s.Set, volumes.RoleReceiver, volumes.RoleSender)
	}
	if len(need.of) == 0 {
		return nil, nil
	}
	return quotasAt(ctx, e.Source, need.of, "the new volumes of an ordinal beside its present ones, and the growth of claims")
}

// NewReportInPlace assigns findings to the checks of a change in place.
func NewReportInPlace(findings []plan.Finding) Report {
	return reportOf(slices.DeleteFunc(Catalogue(), func(c Check) bool {
		return c.group() != GroupInPlace && !slices.Contains([]string{checkKinds, checkRights, plan.CheckSource, plan.CheckBudget}, c.Name)
	}), findings)
}
