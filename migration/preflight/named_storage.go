package preflight

import (
	"context"
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/dependencies"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/migration/preflight/storage"
	"github.com/sliceshift/sliceshift/migration/world"
	"github.com/sliceshift/sliceshift/volumes"
)

// namedByStorage returns objects that storage needs: those that the claims of new volumes and the claim templates
// name, except their storage classes, which have their own check, and those that the volumes name that are created at
// the destination, such as the Secrets of their driver. It also warns of names that new claims do not get.
func (e *Inspector) namedByStorage(ctx context.Context, m *api.Migration, source *appsv1.StatefulSet) ([]need, []plan.Finding, error) {
	if e.SameCluster() {
		return nil, nil, nil
	}
	claims, err := e.newClaims(ctx, m, source)
	if err != nil {
		return nil, nil, err
	}
	all, err := e.namedByClaims(ctx, claims, world.Forms(m), source)
	if err != nil {
		return nil, nil, err
	}
	volumes, err := e.namedByVolumes(ctx, m, source)
	for _, n := range volumes {
		known := func(of need) bool { return of.Kind == n.Kind && of.Name == n.Name }
		if !n.kind.Cluster || !slices.ContainsFunc(all, known) {
			all = append(all, n)
		}
	}
	return all, e.leftAttributes(claims, world.Forms(m), source), err
}

// newClaims returns the source's claims for which the destination gets new volumes.
func (e *Inspector) newClaims(ctx context.Context, m *api.Migration, source *appsv1.StatefulSet) ([]corev1.PersistentVolumeClaim, error) {
	wanted := map[string]bool{}
	for _, template := range world.ClaimTemplates(source) {
		for _, ordinal := range movingOrdinals(m, source) {
			if startsAnew(m, template) {
				wanted[plan.ClaimName(template, source.Name, ordinal)] = true
			}
		}
	}
	if len(wanted) == 0 {
		return nil, nil
	}
	var all corev1.PersistentVolumeClaimList
	err := e.Source.Live.List(ctx, &all, client.InNamespace(e.Source.Namespace))
	return slices.DeleteFunc(all.Items, func(c corev1.PersistentVolumeClaim) bool { return !wanted[c.Name] }), err
}

// naming is a claim in its form at the destination, or a claim template there.
type naming struct {
	claim corev1.PersistentVolumeClaim
	// template is the name of its template, and from its place in text for the user.
	template, from string
	// later is true for a claim template: no claim of a moved ordinal is created by it.
	later bool
}

// namedByClaims returns the objects that claims with new volumes name, and those that the claim templates name.
func (e *Inspector) namedByClaims(ctx context.Context, claims []corev1.PersistentVolumeClaim, forms map[string]volumes.Form, set *appsv1.StatefulSet) ([]need, error) {
	var all []naming
	for i := range claims {
		template := templateOf(set, claims[i].Name)
		created := volumes.CopyClaim(&claims[i], volumes.Ref{Name: claims[i].Name}, "", "", forms[template])
		all = append(all, naming{*created, template, "claim " + created.Name, false})
	}
	for _, template := range set.Spec.VolumeClaimTemplates {
		forms[template.Name].Give(&template)
		all = append(all, naming{template, template.Name, "claim template " + template.Name, true})
	}
	var classes []storagev1.StorageClass
	if slices.ContainsFunc(all, func(n naming) bool { return n.attributes() != "" }) {
		var err error
		if classes, err = e.storageClasses(ctx); err != nil && !apierrors.IsForbidden(err) {
			return nil, err
		}
	}
	var needs []need
	for _, n := range all {
		for _, next := range n.needs(classes) {
			if !slices.ContainsFunc(needs, next.equals) {
				needs = append(needs, next)
			}
		}
	}
	return needs, nil
}

// equals reports whether two claims of one form name the same object.
func (n need) equals(other need) bool {
	return n.Kind == other.Kind && n.Name == other.Name && n.Namespace == other.Namespace && n.later == other.later && n.driver == other.driver
}

// attributes returns the VolumeAttributesClass of the claim; empty if it has none.
func (n naming) attributes() string { return ptr.Deref(n.claim.Spec.VolumeAttributesClassName, "") }

// needs returns the objects that the claim names. Storage classes have their own check.
func (n naming) needs(classes []storagev1.StorageClass) []need {
	var all []need
	for _, ref := range dependencies.WalkClaim(n.claim.Spec, n.from) {
		kind, _ := dependencies.KindOf(ref.Kind)
		if ref.Kind != dependencies.StorageClass {
			all = append(all, need{Reference: ref, kind: kind, later: n.later, kept: true, template: n.template, driver: storage.Provisioner(&n.claim, classes)})
		}
	}
	return all
}

// namedByVolumes returns the objects that the volumes name that are created at the destination.
func (e *Inspector) namedByVolumes(ctx context.Context, m *api.Migration, source *appsv1.StatefulSet) ([]need, error) {
	carried, err := e.claimed(ctx, m, source)
	if err != nil {
		return nil, err
	}
	shared, err := e.sharedVolumes(ctx, m, source)
	if err != nil {
		return nil, err
	}
	var refs []dependencies.Reference
	for _, pv := range slices.Concat(carried, shared) {
		refs = append(refs, dependencies.WalkVolume(pv.Spec, "volume "+pv.Name)...)
	}
	var all []need
	for _, ref := range dependencies.Together(refs) {
		kind, _ := dependencies.KindOf(ref.Kind)
		all = append(all, need{Reference: ref, kind: kind, later: kind.Cluster, kept: true})
	}
	return all, nil
}

// leftAttributes warns of claims whose new volumes get no VolumeAttributesClass, because the migration names their
// storage class.
func (e *Inspector) leftAttributes(claims []corev1.PersistentVolumeClaim, forms map[string]volumes.Form, set *appsv1.StatefulSet) []plan.Finding {
	var found []plan.Finding
	left := map[string]bool{}
	for i := range claims {
		template, attributes := templateOf(set, claims[i].Name), ptr.Deref(claims[i].Spec.VolumeAttributesClassName, "")
		form := forms[template]
		if attributes == "" || form.StorageClass == nil || left[template] {
			continue
		}
		left[template] = true
		found = append(found, plan.Finding{
			Reason: api.ReasonDependencyNotCopied, Object: "claim template " + template, Warning: true,
			Message: fmt.Sprintf("claim %s names VolumeAttributesClass %s, and the new volumes of claim template %s get none: the migration names their StorageClass %s, and an attributes class belongs to the driver of the former class", claims[i].Name, attributes, template, *form.StorageClass),
			Remedy:  "to set one after the move: " + e.Destination.Kubectl().Do("patch", "pvc", "-n", e.Destination.Namespace, plan.ClaimName(template, e.Destination.Set, ordinalOf(set, template, claims[i].Name)), "-p", `{"spec":{"volumeAttributesClassName":"CLASS"}}`),
		})
	}
	return found
}

// ordinalOf returns the ordinal of a claim of a template.
func ordinalOf(set *appsv1.StatefulSet, template, claim string) int32 {
	ordinal, _ := dependencies.OrdinalOf(template+"-"+set.Name, claim)
	return ordinal
}

// storageClasses returns the destination's storage classes, listed once for all checks.
func (e *Inspector) storageClasses(ctx context.Context) ([]storagev1.StorageClass, error) {
	return e.reads().classes.of(func() ([]storagev1.StorageClass, error) {
		var all storagev1.StorageClassList
		err := e.Destination.Live.List(ctx, &all)
		return all.Items, err
	})
}
