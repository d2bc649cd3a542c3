package manifest

import (
	"cmp"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
)

// ServiceFor is the Service by which a sender reaches a receiver of this claim, whichever pass it is of. It has
// the claim's name, and leads to pods that are not Ready, as no mover ever is. An empty type is ClusterIP, which
// reaches senders of the same cluster only. One that is to be exported is headless: its name leads to the pod itself.
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

// MadeForAnother says whether a migration has made a Service for another type than this one. One that does not say for
// which it was made, as those of older versions, is taken for the right one.
func MadeForAnother(service *corev1.Service, owner types.UID, kind corev1.ServiceType) bool {
	made := service.Annotations[ServiceTypeAnnotationKey]
	return service.Annotations[api.OwnerAnnotationKey] == string(owner) && made != "" && made != string(spelled(kind))
}

// spelled is a type of Service with its default.
func spelled(kind corev1.ServiceType) corev1.ServiceType {
	return cmp.Or(kind, corev1.ServiceTypeClusterIP)
}

// ExportedAddress is where a sender of another cluster of the clusterset reaches the receiver behind a Service that is exported
// (KEP-1645, "DNS"), with the port.
func ExportedAddress(service *corev1.Service) string {
	return service.Name + "." + service.Namespace + ".svc.clusterset.local:" + strconv.Itoa(Port)
}

// Address is where a sender reaches the receiver behind a Service, with the port; empty: not known yet. A
// NodePort is taken on the node of the receiver.
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
	if strings.Contains(host, ":") { // an address of IPv6
		host = "[" + host + "]"
	}
	return host + ":" + strconv.Itoa(int(port))
}
