package preflight

import (
	"context"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apiresource "k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/endpoint"
	"github.com/sliceshift/sliceshift/migration/inplace"
	"github.com/sliceshift/sliceshift/migration/outlook"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/migration/world"
	"github.com/sliceshift/sliceshift/volumes"
	"github.com/sliceshift/sliceshift/volumes/drift"
)

// inPlaceChecks returns the checks of a change of storage in place that need more than a snapshot of values.
func inPlaceChecks() (all []Check) {
	for _, check := range outlook.Checks {
		all = append(all, Check{
			Name: check.Name, Group: GroupInPlace, InPlace: true, Looks: check.Looks, Why: check.Why, Remedy: check.Remedy,
			Run: func(ctx context.Context, e *Inspector, s Subject) ([]plan.Finding, error) {
				if s.Migration.Spec.Storage == nil {
					return nil, nil
				}
				state, err := e.stateInPlace(ctx, s.Migration, s.Source)
				if err != nil {
					return nil, err
				}
				return check.Find(state), nil
			},
		})
	}
	return append(all, Check{
		Name: "recreation in place", Group: GroupInPlace, InPlace: true,
		Looks:  "at the API server's answer to a dry run of the StatefulSet with the new claim templates.",
		Why:    "A policy, a webhook or the validation could reject it after the present one is deleted, and its pods would have no controller. If one changes it, its pods are restarted, or its claims get other volumes.",
		Remedy: "Let the policy allow it unchanged, or correct the claim templates.",
		Run:    ofSource((*Inspector).recreation),
	})
}

// recreation dry-runs the creation of the set with the wanted templates.
func (e *Inspector) recreation(ctx context.Context, m *api.Migration, set *appsv1.StatefulSet) ([]plan.Finding, error) {
	if m.Spec.Storage == nil || e.Source.Kind().UpdatesTemplates() {
		return nil, nil
	}
	raw, err := endpoint.UnstructuredOf(e.Source, set)
	if err != nil {
		return nil, err
	}
	want, _, err := inplace.Live(raw.Object).Want(m.Spec.Volumes)
	if err != nil {
		return nil, err
	}
	manifest, err := want.Manifest("")
	if err != nil {
		return nil, err
	}
	next, err := world.RecreatedSet(plan.Effect{Manifest: manifest.Text})
	if err != nil {
		return nil, err
	}
	if err = world.Admits(ctx, e.Source, next); err == nil || endpoint.LacksRight(err) {
		return nil, nil // the check of the rights reports one that is missing
	}
	finding, err := rehearsal(e.Source, next, err)
	if finding == nil || err != nil {
		return nil, err
	}
	return []plan.Finding{*finding}, nil
}

// Outlook returns what a migration in place does, with the findings of all checks. budget is the disruption budget. A set
// that does not exist has no ordinals.
func (e *Inspector) Outlook(ctx context.Context, m *api.Migration, budget int32, findings []plan.Finding) (outlook.Plan, error) {
	set, err := e.Source.GetSet(ctx, e.Source.Live)
	if err != nil {
		return outlook.Plan{}, err
	}
	if set == nil {
		return e.NoOutlook(findings), nil
	}
	state, err := e.stateInPlace(ctx, m, set)
	if err != nil {
		return outlook.Plan{}, err
	}
	return outlook.New(state, budget, findings), nil
}

// NoOutlook returns the findings of a migration in place whose StatefulSet was not read.
func (e *Inspector) NoOutlook(findings []plan.Finding) outlook.Plan {
	set := &appsv1.StatefulSet{}
	set.Namespace, set.Name = e.Source.Namespace, e.Source.Set
	return outlook.New(outlook.State{Cluster: e.Source.Cluster, Set: set}, 0, findings)
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
	state, err := e.stateInPlace(ctx, asked, set)
	return outlook.Choose(state), err
}

// stateInPlace reads the state of a change in place. The checks of a run share it. A list that may not be read is nil.
func (e *Inspector) stateInPlace(ctx context.Context, m *api.Migration, set *appsv1.StatefulSet) (outlook.State, error) {
	return e.reads().inPlace.of(func() (outlook.State, error) { return e.readInPlace(ctx, m, set) })
}

func (e *Inspector) readInPlace(ctx context.Context, m *api.Migration, set *appsv1.StatefulSet) (outlook.State, error) {
	state := outlook.State{
		Cluster: e.Source.Cluster, Kubectl: e.Source.Kubectl(), Set: set, Resource: e.Source.Resource(), Updates: e.Source.Kind().UpdatesTemplates(), Volumes: m.Spec.Volumes,
		Outage: volumes.OutageOf(m.Status.History, m.Status.Fence.Heading()),
	}
	if m.Spec.Storage != nil {
		state.MarginPercent = m.Spec.Storage.Margin()
	}
	err := endpoint.Together(
		func() (err error) {
			wanted := outlook.Wanted(set.Spec.VolumeClaimTemplates, m.Spec.Volumes)
			for i := range wanted {
				volumes.NameClass(&wanted[i], m.DefaultClass())
			}
			state.Claims, err = e.claimsInPlace(ctx, set, wanted)
			return err
		},
		func() (err error) {
			state.Classes, err = e.classesInPlace(ctx, m)
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
	start, replicas := int32(0), ptr.Deref(set.Spec.Replicas, 1)
	if set.Spec.Ordinals != nil {
		start = set.Spec.Ordinals.Start
	}
	if replicas > plan.MaxOrdinals {
		return nil, nil // the check of the numbers refuses them
	}
	for ordinal := start; ordinal < start+replicas; ordinal++ {
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

// quotasInPlace finds a quota without room for the new volumes of one ordinal beside its present ones, for the growth of all
// claims, and for the claims of all ordinals in another class.
func (e *Inspector) quotasInPlace(ctx context.Context, m *api.Migration, set *appsv1.StatefulSet) ([]plan.Finding, error) {
	state, err := e.stateInPlace(ctx, m, set)
	if err != nil {
		return nil, err
	}
	need := demand{ordinals: 1, of: corev1.ResourceList{}}
	present := set.Spec.VolumeClaimTemplates
	wanted := outlook.Wanted(present, m.Spec.Volumes)
	var filled []filledTemplate
	for i := range present {
		asked := api.AskedOf(m.Spec.Volumes, present[i].Name)
		if asked.Method.FillsSecond() {
			asked.Copy.Size, asked.Snapshot.Size = asked.Size, asked.Size
			filled = append(filled, filledTemplate{claim: present[i], asked: asked})
			need.joins(wanted[i], state.Claims)
		}
		growth := wanted[i].Spec.Resources.Requests[corev1.ResourceStorage].DeepCopy()
		growth.Sub(present[i].Spec.Resources.Requests[corev1.ResourceStorage])
		if growth.Sign() > 0 {
			all := demand{ordinals: int64(ptr.Deref(set.Spec.Replicas, 1)), of: need.of}
			all.add(corev1.ResourceRequestsStorage, growth)
		}
	}
	if len(filled) > 0 {
		need.filling(filled, set, volumes.RoleReceiver, volumes.RoleSender)
	}
	if len(need.of) == 0 {
		return nil, nil
	}
	return quotasAt(ctx, e.Source, need.of, "the new volumes of an ordinal beside its present ones, and for the class and the growth of all claims")
}

// joins adds the usage of a class by the claims of a template that are of another one now.
func (d demand) joins(template corev1.PersistentVolumeClaim, claims []outlook.Claim) {
	own := demand{of: d.of}
	for i := range claims {
		if c := &claims[i]; c.Template.Name == template.Name && c.Found != nil && !ptr.Equal(volumes.ClassNamed(c.Found), volumes.ClassNamed(&template)) {
			own.ordinals++
		}
	}
	for _, prefix := range claimPrefixes(template, nil)[1:] {
		own.add(prefix+corev1.ResourcePersistentVolumeClaims, *apiresource.NewQuantity(1, apiresource.DecimalSI))
		own.add(prefix+corev1.ResourceRequestsStorage, template.Spec.Resources.Requests[corev1.ResourceStorage])
	}
}

// NewReportInPlace assigns findings to the checks of a change in place.
func NewReportInPlace(findings []plan.Finding) Report {
	first := []string{checkKinds, checkRights, plan.CheckSource, plan.CheckBudget, plan.CheckForm, plan.CheckSchedule, plan.CheckWriters}
	return reportOf(slices.DeleteFunc(Catalogue(), func(c Check) bool { return !c.InPlace && !slices.Contains(first, c.Name) }), findings)
}
