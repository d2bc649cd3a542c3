package world

import (
	"context"
	"maps"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	slicesapi "github.com/sliceshift/sliceshift/api/apps/v1alpha1"
	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/endpoint"
	"github.com/sliceshift/sliceshift/volumes"
)

// copyMeta copies labels and annotations, except those that belong to a single object.
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
		delete(annotations, key) // a GitOps tool that tracks the source would prune the copy
		delete(labels, key)
	}
	annotations[api.OwnerAnnotationKey] = string(owner)
	return metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: labels, Annotations: annotations}
}

// MapTemplates applies the forms of the destination's claims to claim templates.
func MapTemplates(templates []corev1.PersistentVolumeClaim, forms map[string]volumes.Form) {
	for i := range templates {
		templates[i].Status = corev1.PersistentVolumeClaimStatus{}
		forms[templates[i].Name].Give(&templates[i])
	}
}

// copyService returns the destination's governing Service. It drops fields that a cluster assigns, and fields that
// expose it externally, because the same address may belong to another user there. A Service of type ExternalName
// becomes headless, as a governing Service is.
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

// createdNamespace returns the destination's namespace with the Pod Security labels of the source's, if these may be
// read. Labels that would allow more than an unlabelled namespace are left out.
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

// forms returns the forms of the destination's claims by claim template.
func (e *Executor) forms() map[string]volumes.Form {
	forms := map[string]volumes.Form{}
	for template, asked := range e.Volumes {
		forms[template] = volumes.FormOf(asked)
	}
	return forms
}

// Forms returns the requested forms of the destination's claims by claim template.
func Forms(m *api.Migration) map[string]volumes.Form {
	forms := map[string]volumes.Form{}
	for _, volume := range m.VolumesAsAccepted() {
		forms[volume.ClaimTemplate] = volumes.FormOf(volume)
	}
	return forms
}

// Trackers lists the labels and annotations with which GitOps tools mark their objects.
var Trackers = []string{
	"argocd.argoproj.io/tracking-id", "argocd.argoproj.io/instance",
	"kustomize.toolkit.fluxcd.io/name", "helm.toolkit.fluxcd.io/name",
}
