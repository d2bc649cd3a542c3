package manifest

import (
	"cmp"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
)

// ServiceFor returns the Service by which a sender reaches a receiver of this claim, in any pass. It has the
// claim's name. It includes pods that are not Ready, because no mover ever is. An empty type is ClusterIP,
// which only senders of the same cluster can reach. A Service to be exported is headless: its name resolves to
// the pod itself.
func ServiceFor(s Spec, kind corev1.ServiceType) *corev1.Service {
	address, asked := "", spelled(kind)
	if kind == api.ServiceTypeExport {
		kind, address = corev1.ServiceTypeClusterIP, corev1.ClusterIPNone
	}
	labels, annotations := s.marks()
	annotations[AttemptAnnotationKey] = strconv.Itoa(int(s.Attempt))
	annotations[ServiceTypeAnnotationKey] = string(asked)
	return &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: s.Claim, Labels: labels, Annotations: annotations},
		Spec: corev1.ServiceSpec{
			ClusterIP:                address,
			Type:                     kind,
			PublishNotReadyAddresses: true,
			Selector:                 map[string]string{RoleLabelKey: string(RoleReceiver), IncomingLabelKey: s.Claim},
			Ports:                    []corev1.ServicePort{{Name: "mover", Port: Port, TargetPort: intstr.FromInt32(Port), Protocol: corev1.ProtocolTCP}},
		},
	}
}

// MadeForAnother reports whether a migration has created a Service for another type than this one. A Service
// without a record of its type, as older versions created, is accepted.
func MadeForAnother(service *corev1.Service, owner types.UID, kind corev1.ServiceType) bool {
	made := service.Annotations[ServiceTypeAnnotationKey]
	return service.Annotations[api.OwnerAnnotationKey] == string(owner) && made != "" && made != string(spelled(kind))
}

// spelled returns a type of Service with its default.
func spelled(kind corev1.ServiceType) corev1.ServiceType {
	return cmp.Or(kind, corev1.ServiceTypeClusterIP)
}

// ExportedAddress returns the address, with port, of the receiver behind an exported Service, for a sender in
// another cluster of the clusterset (KEP-1645, "DNS").
func ExportedAddress(service *corev1.Service) string {
	return service.Name + "." + service.Namespace + ".svc.clusterset.local:" + strconv.Itoa(Port)
}

// Address returns the address, with port, of the receiver behind a Service; empty if not known yet. A NodePort
// is used on the node of the receiver.
func Address(service *corev1.Service, receiver *corev1.Pod) string {
	if len(service.Spec.Ports) == 0 {
		return ""
	}
	host, port := "", service.Spec.Ports[0].Port
	switch service.Spec.Type {
	case corev1.ServiceTypeLoadBalancer:
		for _, each := range service.Status.LoadBalancer.Ingress {
			if host = each.IP; host == "" {
				host = each.Hostname
			}
			if host != "" {
				break
			}
		}
	case corev1.ServiceTypeNodePort:
		host, port = receiver.Status.HostIP, service.Spec.Ports[0].NodePort
	default:
		if host = service.Spec.ClusterIP; host == corev1.ClusterIPNone {
			host = receiver.Status.PodIP
		}
	}
	if host == "" || port == 0 {
		return ""
	}
	if strings.Contains(host, ":") { // an IPv6 address
		host = "[" + host + "]"
	}
	return host + ":" + strconv.Itoa(int(port))
}
