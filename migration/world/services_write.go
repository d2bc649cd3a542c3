package world

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// podService returns the headless Service of one pod. It has the ports of the governing Service, and the same
// publishNotReadyAddresses.
func podService(governing *corev1.Service, meta metav1.ObjectMeta) *corev1.Service {
	service := &corev1.Service{ObjectMeta: meta, Spec: corev1.ServiceSpec{ClusterIP: corev1.ClusterIPNone, Selector: SelectPod(meta.Name)}}
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
