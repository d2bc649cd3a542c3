package storage

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/component-helpers/storage/volume"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/endpoint"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/volumes"
)

// noProvisioner is the provisioner of a StorageClass whose volumes an administrator creates in advance.
const noProvisioner = "kubernetes.io/no-provisioner"

// ByHand returns the class that a claim uses if that class has no provisioner; else, or if no class is known, it
// returns "".
func ByHand(name *string, classes []storagev1.StorageClass) string {
	class := volumes.FindClass(name, classes)
	if class == nil || class.Provisioner != noProvisioner {
		return ""
	}
	return class.Name
}

// Wanted is a claim that the destination gets for an ordinal, of a class without a provisioner.
type Wanted struct {
	// Template is the claim template.
	Template string
	Claim    corev1.PersistentVolumeClaim
}

// Free finds claim templates with too few free volumes at the destination for their new claims. It assigns volumes
// like the volume binder: one that is reserved for a claim, or else the smallest that fits.
func Free(at endpoint.Endpoint, wanted []Wanted, all []corev1.PersistentVolume) []plan.Finding {
	given := map[string]*corev1.PersistentVolume{}
	var lacking []string
	needs, gets, of := map[string]int{}, map[string]int{}, map[string]corev1.PersistentVolumeClaim{}
	for i := range wanted {
		template, claim := wanted[i].Template, wanted[i].Claim
		needs[template]++
		if _, known := of[template]; !known {
			of[template] = claim
		}
		fits, err := volume.FindMatchingVolume(&claim, reaching(&claim, all), nil, given, false, true)
		switch {
		case err == nil && fits != nil:
			given[fits.Name] = fits
			gets[template]++
		case !slices.Contains(lacking, template):
			lacking = append(lacking, template)
		}
	}
	var found []plan.Finding
	for _, template := range lacking {
		found = append(found, tooFew(at, template, of[template], needs[template], gets[template]))
	}
	return found
}

// reaching returns the volumes whose access modes satisfy a claim; the binder does the sorting. A new volume that no
// controller has processed yet counts as available.
func reaching(claim *corev1.PersistentVolumeClaim, all []corev1.PersistentVolume) []*corev1.PersistentVolume {
	var found []*corev1.PersistentVolume
	for i := range all {
		if !volume.CheckAccessModes(claim, &all[i]) {
			continue
		}
		one := all[i]
		if one.Status.Phase == "" || one.Status.Phase == corev1.VolumePending {
			one.Status.Phase = corev1.VolumeAvailable
		}
		found = append(found, &one)
	}
	return found
}

func tooFew(at endpoint.Endpoint, template string, claim corev1.PersistentVolumeClaim, needs, gets int) plan.Finding {
	class := volume.GetPersistentVolumeClaimClass(&claim)
	size := claim.Spec.Resources.Requests[corev1.ResourceStorage]
	kind := corev1.PersistentVolumeFilesystem
	if claim.Spec.VolumeMode != nil {
		kind = *claim.Spec.VolumeMode
	}
	form := fmt.Sprintf("at least %s, %s, %s", size.String(), api.Modes(claim.Spec.AccessModes), kind)
	return plan.Finding{
		Reason: volumes.ReasonVolumesTooFew, Object: "claim template " + template,
		Message: fmt.Sprintf("the destination needs %d new volumes for claim template %s, but StorageClass %s in cluster %s provisions none (%s): of the volumes that exist there, %d are free and fit (%s); without a volume a moved ordinal would not start",
			needs, template, class, at.Cluster, noProvisioner, gets, form),
		Remedy: fmt.Sprintf("create %d PersistentVolumes of that class there (%s), or use a class that provisions them: --storage-class %s=CLASS, storageClassName in spec.volumes; to list the volumes: %s",
			needs-gets, form, template, at.Kubectl().Do("get", "pv")),
	}
}
