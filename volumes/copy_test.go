package volumes

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
)

// TestCopyVolume: the copy has the same source for the disk, is Retain, is reserved by name and not by UID, and
// keeps the annotations that its provisioner may need later. Known hazards of other tools are a stale UID, a
// lost provisioned-by and a changed attribute.
func TestCopyVolume(t *testing.T) {
	from := &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{
			Name: "pv", UID: "u", ResourceVersion: "7", Finalizers: []string{"kubernetes.io/pv-protection"}, Labels: map[string]string{"zone": "a"},
			Annotations: map[string]string{
				"pv.kubernetes.io/provisioned-by": "ebs.csi.aws.com", "pv.kubernetes.io/bound-by-controller": "yes",
				api.OriginalReclaimPolicyAnnotationKey: "Delete", api.FenceAnnotationKey: "old.1", api.ReleasedAnnotationKey: "old.1",
			},
		},
		Spec: corev1.PersistentVolumeSpec{
			PersistentVolumeReclaimPolicy: corev1.PersistentVolumeReclaimRetain, StorageClassName: "slow",
			ClaimRef:               &corev1.ObjectReference{Namespace: "a", Name: "b", UID: "stale", ResourceVersion: "3"},
			PersistentVolumeSource: corev1.PersistentVolumeSource{CSI: &corev1.CSIPersistentVolumeSource{Driver: "d", VolumeHandle: "h", VolumeAttributes: map[string]string{"noformat": "true"}}},
		},
		Status: corev1.PersistentVolumeStatus{Phase: corev1.VolumeBound},
	}
	from.Spec.PersistentVolumeReclaimPolicy = corev1.PersistentVolumeReclaimDelete // the copy is Retain anyway
	class := "fast"
	want := &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{
			Name: "pv", Labels: map[string]string{"zone": "a"},
			Annotations: map[string]string{"pv.kubernetes.io/provisioned-by": "ebs.csi.aws.com", api.OriginalReclaimPolicyAnnotationKey: "Delete", api.OwnerAnnotationKey: "me"},
		},
		Spec: corev1.PersistentVolumeSpec{
			PersistentVolumeReclaimPolicy: corev1.PersistentVolumeReclaimRetain, StorageClassName: "fast",
			ClaimRef:               &corev1.ObjectReference{APIVersion: "v1", Kind: "PersistentVolumeClaim", Namespace: "shop", Name: "data-web-0"},
			PersistentVolumeSource: from.Spec.PersistentVolumeSource,
		},
	}
	t.Run("M-061, M-064, M-065: reserved by name, of the class that was asked for, without marks of the binder", func(t *testing.T) {
		if diff := cmp.Diff(want, CopyVolume(from, from.Name, Ref{Namespace: "shop", Name: "data-web-0"}, "me", Form{StorageClass: &class})); diff != "" {
			t.Errorf("-want +got\n%s", diff)
		}
	})
}

// TestCopyClaim: the copy names its volume and has no data source.
func TestCopyClaim(t *testing.T) {
	from := &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "data-web-0", UID: "u", OwnerReferences: []metav1.OwnerReference{{Kind: "Pod"}}, Annotations: map[string]string{
			"pv.kubernetes.io/bind-completed": "yes", "pv.kubernetes.io/bound-by-controller": "yes", "volume.kubernetes.io/selected-node": "node",
			"volume.kubernetes.io/storage-provisioner": "ebs.csi.aws.com", "team": "x",
		}},
		Spec: corev1.PersistentVolumeClaimSpec{
			VolumeName: "pv", AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}, DataSource: &corev1.TypedLocalObjectReference{Kind: "VolumeSnapshot", Name: "s"},
		},
	}
	from.Spec.VolumeName = "" // it is not bound: the copy names its volume anyway
	want := &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: "b", Name: "data-web-0", Annotations: map[string]string{
			"volume.kubernetes.io/storage-provisioner": "ebs.csi.aws.com", "team": "x", api.OwnerAnnotationKey: "me",
		}},
		Spec: corev1.PersistentVolumeClaimSpec{VolumeName: "pv", AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}},
	}
	t.Run("M-065, M-069: it names its volume, without marks of the binder and the scheduler", func(t *testing.T) {
		if diff := cmp.Diff(want, CopyClaim(from, Ref{Namespace: "b", Name: "data-web-0"}, "pv", "me", Form{})); diff != "" {
			t.Errorf("-want +got\n%s", diff)
		}
	})
	t.Run("M-061: of the class that was asked for", func(t *testing.T) {
		class := "fast"
		if got := CopyClaim(from, Ref{Namespace: "b", Name: "data-web-0"}, "pv", "me", Form{StorageClass: &class}).Spec.StorageClassName; got == nil || *got != class {
			t.Errorf("class %v", got)
		}
	})
}

// TestY15AttributesOfAnotherClass: a named class excludes the former attributes class, which belongs to the driver of the
// former class, and the annotation that precedes spec.storageClassName. A disk that is carried over keeps its attributes.
func TestY15AttributesOfAnotherClass(t *testing.T) {
	fast := "fast"
	for name, tc := range map[string]struct {
		volume     string
		form       Form
		attributes *string
	}{
		"a new volume of the same class":    {"", Form{}, new("gold")},
		"a new volume of another class":     {"", Form{StorageClass: &fast}, nil},
		"the same disk":                     {"pv", Form{}, new("gold")},
		"the same disk under another class": {"pv", Form{StorageClass: &fast}, new("gold")},
	} {
		t.Run(name, func(t *testing.T) {
			from := &corev1.PersistentVolumeClaim{
				ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{corev1.BetaStorageClassAnnotation: "slow"}},
				Spec:       corev1.PersistentVolumeClaimSpec{StorageClassName: new("slow"), VolumeAttributesClassName: new("gold")},
			}
			got := CopyClaim(from, Ref{Namespace: "b", Name: "data-web-0"}, tc.volume, "me", tc.form)
			if diff := cmp.Diff(tc.attributes, got.Spec.VolumeAttributesClassName); diff != "" {
				t.Errorf("attributes class: -want +got\n%s", diff)
			}
			if _, stays := got.Annotations[corev1.BetaStorageClassAnnotation]; stays != (tc.form.StorageClass == nil) {
				t.Errorf("class %s, and annotations %v", *got.Spec.StorageClassName, got.Annotations)
			}
		})
	}
	shared := map[string]string{corev1.BetaStorageClassAnnotation: "slow"}
	Form{StorageClass: &fast}.Give(&corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Annotations: shared}})
	if len(shared) != 1 {
		t.Error("the annotations of the other side's claim were changed")
	}
}

// TestCopyClaimToAnotherClass: the copy has the requested class, and a claim without annotations gets the
// owner's.
func TestCopyClaimToAnotherClass(t *testing.T) {
	class := "fast"
	got := CopyClaim(&corev1.PersistentVolumeClaim{}, Ref{Namespace: "b", Name: "data-web-0"}, "pv", "me", Form{StorageClass: &class})
	want := &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: "b", Name: "data-web-0", Annotations: map[string]string{api.OwnerAnnotationKey: "me"}},
		Spec:       corev1.PersistentVolumeClaimSpec{VolumeName: "pv", StorageClassName: &class},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}
