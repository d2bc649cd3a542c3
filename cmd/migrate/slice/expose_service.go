package slice

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation"

	slicesapi "github.com/sliceshift/sliceshift/api/apps/v1alpha1"
)

// serviceOptions describe a Service. An empty value means the default.
type serviceOptions struct {
	name, port, targetPort, protocol, kind, selector, labels, clusterIP, externalIP, loadBalancerIP, affinity string
}

// of returns the Service for a set.
func (o serviceOptions) of(set *slicesapi.StatefulSet) (*corev1.Service, error) {
	selector, err := o.selectorOf(set)
	if err != nil {
		return nil, err
	}
	ports, err := o.portsOf(set)
	if err != nil {
		return nil, err
	}
	service := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: set.Namespace, Name: cmp.Or(o.name, set.Name), Labels: set.Labels},
		Spec: corev1.ServiceSpec{
			Selector: selector, Ports: ports, Type: corev1.ServiceType(o.kind), ClusterIP: o.clusterIP, SessionAffinity: corev1.ServiceAffinity(o.affinity),
		},
	}
	if o.labels != "" {
		if service.Labels, err = labels.ConvertSelectorToLabelsMap(o.labels); err != nil {
			return nil, err
		}
	}
	if o.externalIP != "" {
		service.Spec.ExternalIPs = []string{o.externalIP}
	}
	if service.Spec.Type == corev1.ServiceTypeLoadBalancer {
		service.Spec.LoadBalancerIP = o.loadBalancerIP
	}
	return service, nil
}

// selectorOf returns the selector of the Service. A Service cannot have expressions.
func (o serviceOptions) selectorOf(set *slicesapi.StatefulSet) (map[string]string, error) {
	if o.selector != "" {
		return labels.ConvertSelectorToLabelsMap(o.selector)
	}
	if selector := set.Spec.Selector; len(selector.MatchExpressions) > 0 {
		return nil, fmt.Errorf("the selector of StatefulSet %s/%s has expressions, which a Service cannot have: choose labels with --selector", set.Namespace, set.Name)
	}
	return set.Spec.Selector.MatchLabels, nil
}

// portsIn returns the ports in a list with commas.
func portsIn(list string) (ports []int32, err error) {
	if list == "" {
		return nil, nil
	}
	for text := range strings.SplitSeq(list, ",") {
		const decimal, bits = 10, 32
		port, err := strconv.ParseInt(text, decimal, bits)
		if err != nil || len(validation.IsValidPortNum(int(port))) > 0 {
			return nil, fmt.Errorf("--port must be a number from 1 to 65535, or several with commas, not %q", text)
		}
		ports = append(ports, int32(port))
	}
	return ports, nil
}

// portsOf returns the ports of the Service, with the names that kubectl gives several of them.
func (o serviceOptions) portsOf(set *slicesapi.StatefulSet) ([]corev1.ServicePort, error) {
	exposed, protocols := containerPorts(set)
	numbers, err := portsIn(o.port)
	if err != nil {
		return nil, err
	}
	if o.port == "" {
		numbers = exposed
	}
	if len(numbers) == 0 && o.clusterIP != corev1.ClusterIPNone {
		return nil, errors.New("the containers of StatefulSet " + set.Namespace + "/" + set.Name + " name no port: choose one with --port")
	}
	var ports []corev1.ServicePort
	for i, number := range numbers {
		target := intstr.FromInt32(number)
		if o.targetPort != "" {
			target = intstr.Parse(o.targetPort)
		}
		name := ""
		if len(numbers) > 1 {
			name = fmt.Sprintf("port-%d", i+1)
		}
		uses := o.protocolsOf(protocols[number])
		for _, protocol := range uses {
			full := name
			if len(uses) > 1 {
				full = fmt.Sprintf("port-%d-%s", i+1, strings.ToLower(string(protocol)))
			}
			ports = append(ports, corev1.ServicePort{Name: full, Port: number, Protocol: protocol, TargetPort: target})
		}
	}
	return ports, nil
}

// protocolsOf returns the protocols of a port: the one that was given, those of the containers, or TCP.
func (o serviceOptions) protocolsOf(known []corev1.Protocol) []corev1.Protocol {
	switch {
	case o.protocol != "":
		return []corev1.Protocol{corev1.Protocol(o.protocol)}
	case len(known) > 0:
		return known
	default:
		return []corev1.Protocol{corev1.ProtocolTCP}
	}
}

// containerPorts returns the ports of the containers in order, and the protocols of each.
func containerPorts(set *slicesapi.StatefulSet) (numbers []int32, protocols map[int32][]corev1.Protocol) {
	protocols = map[int32][]corev1.Protocol{}
	for _, container := range set.Spec.Template.Spec.Containers {
		for _, port := range container.Ports {
			protocol := cmp.Or(port.Protocol, corev1.ProtocolTCP)
			if !slices.Contains(numbers, port.ContainerPort) {
				numbers = append(numbers, port.ContainerPort)
			}
			if !slices.Contains(protocols[port.ContainerPort], protocol) {
				protocols[port.ContainerPort] = append(protocols[port.ContainerPort], protocol)
			}
		}
	}
	return numbers, protocols
}
