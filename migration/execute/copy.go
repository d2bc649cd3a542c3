package execute

import (
	"context"
	"maps"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sliceshift/sliceshift/migration/endpoint"
	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
	slicesapi "github.com/sliceshift/sliceshift/slices/v1alpha1"
	"github.com/sliceshift/sliceshift/volumes"
)

// copyMeta takes over labels and annotations, less what belongs to one object.
func copyMeta(from metav1.ObjectMeta, namespace, name string, owner types.UID) metav1.ObjectMeta {
	annotations := maps.Clone(from.Annotations)
	if annotations == nil {
		annotations = map[string]string{}
	}
	delete(annotations, corev1.LastAppliedConfigAnnotation)
	delete(annotations, api.FenceAnnotationKey)
	delete(annotations, api.TemplateAnnotationKey)
	delete(annotations, slicesapi.MigratingAnnotationKey)
	delete(annotations, slicesapi.MaxUnavailableAnnotationKey)
	delete(annotations, slicesapi.SplitAnnotationKey)
	labels := maps.Clone(from.Labels)
	for _, key := range Trackers {
		delete(annotations, key) // whoever tracks the source would prune the copy
		delete(labels, key)
	}
	annotations[api.OwnerAnnotationKey] = string(owner)
	return metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: labels, Annotations: annotations}
}

// MapTemplates gives claim templates the form that their claims have at the destination.
func MapTemplates(templates []corev1.PersistentVolumeClaim, forms map[string]volumes.Form) {
	for i := range templates {
		templates[i].Status = corev1.PersistentVolumeClaimStatus{}
		forms[templates[i].Name].Give(&templates[i].Spec)
	}
}

// copyService makes the destination's governing Service, less what a cluster assigns, and
// less what opens it to the outside: there the same address may be somebody else's. One that
// is a name of something else becomes headless, as a governing Service is.
func copyService(from *corev1.Service, meta metav1.ObjectMeta) *corev1.Service {
	service := &corev1.Service{ObjectMeta: meta, Spec: *from.Spec.DeepCopy()}
	spec := &service.Spec
	switch {
	case spec.Type == corev1.ServiceTypeExternalName:
		spec.ClusterIP, spec.ClusterIPs = corev1.ClusterIPNone, nil
	case spec.ClusterIP != corev1.ClusterIPNone:
		spec.ClusterIP, spec.ClusterIPs = "", nil
	}
	spec.Type, spec.ExternalName, spec.ExternalIPs = corev1.ServiceTypeClusterIP, "", nil
	spec.LoadBalancerIP, spec.LoadBalancerClass, spec.LoadBalancerSourceRanges = "", nil, nil
	spec.AllocateLoadBalancerNodePorts, spec.ExternalTrafficPolicy, spec.HealthCheckNodePort = nil, "", 0
	spec.IPFamilies, spec.IPFamilyPolicy = nil, nil
	for i := range spec.Ports {
		spec.Ports[i].NodePort = 0
	}
	return service
}

// createdNamespace is as strict as the source's is by Pod Security, where that may be read, and never laxer than without it.
func (e *Executor) createdNamespace(ctx context.Context, meta metav1.ObjectMeta) (client.Object, error) {
	meta.Namespace = ""
	namespace := &corev1.Namespace{ObjectMeta: meta}
	from, err := endpoint.Get[corev1.Namespace](ctx, e.Source.Live, client.ObjectKey{Name: e.Source.Namespace})
	if err != nil && !apierrors.IsForbidden(err) {
		return nil, err
	}
	if from == nil {
		return namespace, nil
	}
	namespace.Labels = stricter(from.Labels)
	return namespace, nil
}

// forms are those of the destination's claims by claim template.
func (e *Executor) forms() map[string]volumes.Form {
	forms := map[string]volumes.Form{}
	for template, asked := range e.Volumes {
		forms[template] = volumes.FormOf(asked)
	}
	return forms
}

// Forms are what is asked for of the destination's claims, by claim template.
func Forms(m *api.Migration) map[string]volumes.Form {
	forms := map[string]volumes.Form{}
	for _, volume := range m.VolumesAsAccepted() {
		forms[volume.ClaimTemplate] = volumes.FormOf(volume)
	}
	return forms
}

// Trackers are the labels and annotations by which GitOps tools know their objects.
var Trackers = []string{
	"argocd.argoproj.io/tracking-id", "argocd.argoproj.io/instance",
	"kustomize.toolkit.fluxcd.io/name", "helm.toolkit.fluxcd.io/name",
}
