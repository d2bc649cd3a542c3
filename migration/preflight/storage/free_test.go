package storage

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sliceshift/sliceshift/migration/endpoint/endpointtest"
	"github.com/sliceshift/sliceshift/volumes"
)

// TestByHand: a class has no provisioner if its provisioner field says so, whether it is selected by name or as the
// default.
func TestByHand(t *testing.T) {
	classes := []storagev1.StorageClass{
		{ObjectMeta: metav1.ObjectMeta{Name: "disks", Annotations: map[string]string{defaultClass: "true"}}, Provisioner: noProvisioner},
		{ObjectMeta: metav1.ObjectMeta{Name: "fast"}, Provisioner: "disks.example.com"},
	}
	for name, tc := range map[string]struct {
		class *string
		want  string
	}{
		"by its name": {new("disks"), "disks"}, "the default": {nil, "disks"}, "one that makes them": {new("fast"), ""}, "none": {new(""), ""}, "one that is not there": {new("gone"), ""},
	} {
		if got := ByHand(tc.class, classes); got != tc.want {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
}

// TestFree: each new claim of a class without a provisioner needs a free volume that fits.
func TestFree(t *testing.T) {
	disk := func(name string, changes ...func(*corev1.PersistentVolume)) corev1.PersistentVolume {
		v := corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: name}, Status: corev1.PersistentVolumeStatus{Phase: corev1.VolumeAvailable}}
		v.Spec.StorageClassName, v.Spec.AccessModes = "disks", []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}
		v.Spec.Capacity = corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}
		v.Spec.VolumeMode = new(corev1.PersistentVolumeFilesystem)
		for _, change := range changes {
			change(&v)
		}
		return v
	}
	reserved := func(claim string) func(*corev1.PersistentVolume) {
		return func(v *corev1.PersistentVolume) {
			v.Spec.ClaimRef = &corev1.ObjectReference{Namespace: "shop", Name: claim}
		}
	}
	one, other := disk("a"), disk("b")
	const says = "needs 2 new volumes for claim template data, but StorageClass disks in cluster west provisions none (kubernetes.io/no-provisioner): of the volumes that exist there, "
	for name, tc := range map[string]struct {
		there []corev1.PersistentVolume
		says  string
	}{
		"enough":              {[]corev1.PersistentVolume{one, other, disk("c")}, ""},
		"none":                {nil, says + "0 are free and fit (at least 1Gi, ReadWriteOnce, Filesystem)"},
		"one too few":         {[]corev1.PersistentVolume{one}, says + "1 are free"},
		"too small":           {[]corev1.PersistentVolume{one, disk("b", func(v *corev1.PersistentVolume) { v.Spec.Capacity[corev1.ResourceStorage] = resource.MustParse("1Mi") })}, says + "1 are free"},
		"of another class":    {[]corev1.PersistentVolume{one, disk("b", func(v *corev1.PersistentVolume) { v.Spec.StorageClassName = "other" })}, says + "1 are free"},
		"of another mode":     {[]corev1.PersistentVolume{one, disk("b", func(v *corev1.PersistentVolume) { v.Spec.VolumeMode = new(corev1.PersistentVolumeBlock) })}, says + "1 are free"},
		"read by many":        {[]corev1.PersistentVolume{one, disk("b", func(v *corev1.PersistentVolume) { v.Spec.AccessModes[0] = corev1.ReadOnlyMany })}, says + "1 are free"},
		"made just now":       {[]corev1.PersistentVolume{one, disk("b", func(v *corev1.PersistentVolume) { v.Status.Phase = "" })}, ""},
		"not looked at yet":   {[]corev1.PersistentVolume{one, disk("b", func(v *corev1.PersistentVolume) { v.Status.Phase = corev1.VolumePending })}, ""},
		"released":            {[]corev1.PersistentVolume{one, disk("b", func(v *corev1.PersistentVolume) { v.Status.Phase = corev1.VolumeReleased })}, says + "1 are free"},
		"parked":              {[]corev1.PersistentVolume{one, disk("b", reserved("data-web-1_parked"))}, says + "1 are free"},
		"reserved for it":     {[]corev1.PersistentVolume{one, disk("b", reserved("data-web-1"))}, ""},
		"reserved for others": {[]corev1.PersistentVolume{one, disk("b", reserved("data-db-0"))}, says + "1 are free"},
	} {
		t.Run(name, func(t *testing.T) {
			var wanted []Wanted
			for ordinal := range 2 {
				claim := corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: fmt.Sprintf("data-web-%d", ordinal)}}
				claim.Spec.StorageClassName, claim.Spec.AccessModes = new("disks"), one.Spec.AccessModes
				claim.Spec.Resources.Requests = corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}
				wanted = append(wanted, Wanted{"data", claim})
			}
			wantOne(t, Free(endpointtest.Destination(nil), wanted, tc.there), volumes.ReasonVolumesTooFew, false, tc.says)
		})
	}
}
