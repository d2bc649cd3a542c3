package slicetest

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	api "github.com/sliceshift/sliceshift/api/apps/v1alpha1"
)

// NamedSet returns a set in the namespace shop that selects pods by labels.
func NamedSet(name string, labels map[string]string) *api.StatefulSet {
	return &api.StatefulSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, UID: types.UID("uid-of-" + name)},
		Spec:       api.StatefulSetSpec{Selector: &metav1.LabelSelector{MatchLabels: labels}},
	}
}

// Scheme returns a scheme with the types of these objects.
func Scheme(t *testing.T) *runtime.Scheme {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{corev1.AddToScheme, appsv1.AddToScheme, policyv1.AddToScheme, api.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	return scheme
}

// Sized returns a claim or claim template of a size.
func Sized(name, size string) *corev1.PersistentVolumeClaim {
	return &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.PersistentVolumeClaimSpec{
		Resources: corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse(size)}},
	}}
}

// WithClaims returns a set with two claim templates of 1Gi.
func WithClaims() *api.StatefulSet {
	set := NamedSet("web", map[string]string{"app": "web"})
	set.Spec.ServiceName = "web"
	for _, name := range []string{"data", "log"} {
		set.Spec.VolumeClaimTemplates = append(set.Spec.VolumeClaimTemplates, corev1.PersistentVolumeClaim{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			Spec:       corev1.PersistentVolumeClaimSpec{Resources: corev1.VolumeResourceRequirements{Requests: Storage("1Gi")}},
		})
	}
	return set
}

// Storage returns a resource list with a storage size.
func Storage(size string) corev1.ResourceList {
	return corev1.ResourceList{corev1.ResourceStorage: resource.MustParse(size)}
}

// Template returns a pod template with two containers, modified by change.
func Template(change func(*corev1.PodTemplateSpec)) *corev1.PodTemplateSpec {
	t := &corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "web"}, Annotations: map[string]string{"team": "x"}},
		Spec: corev1.PodSpec{
			Containers:     []corev1.Container{{Name: "web", Image: "web:1"}, {Name: "log", Image: "log:1"}},
			InitContainers: []corev1.Container{{Name: "prepare", Image: "prepare:1"}},
			Volumes:        []corev1.Volume{{Name: "scratch"}},
		},
	}
	if change != nil {
		change(t)
	}
	return t
}

// Requests returns requirements that request an amount of one resource.
func Requests(name corev1.ResourceName, amount string) corev1.ResourceRequirements {
	return corev1.ResourceRequirements{Requests: corev1.ResourceList{name: resource.MustParse(amount)}}
}

// Marked returns a claim of ordinal 1 for a surge pod, with the pods that own it.
func Marked(pods ...types.UID) *corev1.PersistentVolumeClaim {
	claim := Sized("data-web-1", "1Gi")
	claim.Namespace, claim.Annotations = "shop", map[string]string{api.SurgeAnnotationKey: "true"}
	for _, uid := range pods {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "web-1", UID: uid}}
		claim.OwnerReferences = append(claim.OwnerReferences, *metav1.NewControllerRef(pod, corev1.SchemeGroupVersion.WithKind("Pod")))
	}
	return claim
}

// IsMarked reports whether a claim was created for a surge pod.
func IsMarked(claim *corev1.PersistentVolumeClaim) bool {
	return claim.Annotations[api.SurgeAnnotationKey] != ""
}
