package execute

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	mcsv1alpha1 "sigs.k8s.io/mcs-api/pkg/apis/v1alpha1"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	"github.com/sliceshift/sliceshift/migration/observe"
)

// podService is the headless Service of one pod. It has the ports of the governing
// Service, and publishes the pod as early as that one does.
func podService(governing *corev1.Service, meta metav1.ObjectMeta) *corev1.Service {
	service := &corev1.Service{ObjectMeta: meta, Spec: corev1.ServiceSpec{ClusterIP: corev1.ClusterIPNone, Selector: observe.SelectPod(meta.Name)}}
	if governing == nil {
		return service
	}
	service.Spec.PublishNotReadyAddresses = governing.Spec.PublishNotReadyAddresses
	for _, port := range governing.Spec.Ports {
		port.NodePort = 0
		service.Spec.Ports = append(service.Spec.Ports, port)
	}
	return service
}

// newExport makes a ServiceExport in the version that the cluster serves.
func newExport(version string, meta metav1.ObjectMeta) client.Object {
	if version == mcsv1beta1.GroupVersion.Version {
		return &mcsv1beta1.ServiceExport{ObjectMeta: meta}
	}
	return &mcsv1alpha1.ServiceExport{ObjectMeta: meta}
}
