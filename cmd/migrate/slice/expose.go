package slice

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/controller-runtime/pkg/client"

	slicesapi "github.com/sliceshift/sliceshift/api/apps/v1alpha1"
	"github.com/sliceshift/sliceshift/cmd/migrate/command"
)

// exposeOptions are the options of the command expose, with the names of kubectl's flags.
type exposeOptions struct {
	named
	service serviceOptions
	manager string
	dryRun  command.DryRun
	result  command.Result
}

const exposeHelp = `Creates a Service with the selector of a StatefulSet, as "kubectl expose" does for Deployments.
Without --port, the Service has the ports of the containers. Without --labels, it has the
labels of the StatefulSet.

The Service of spec.serviceName, which gives the pods their host names, is headless: see
--cluster-ip None. During a move the Service selects the pods of its own cluster only.`

const exposeExamples = `  # Serve port 80, and connect to port 8080 of the containers
  migrate expose web --name web-http --port 80 --target-port 8080 -n shop

  # The headless Service for spec.serviceName: web
  migrate expose web --cluster-ip None -n shop

  # Only show it
  migrate expose web --name web-http --port 80 --dry-run=client -o yaml -n shop`

func newExpose(c *command.Common) *cobra.Command {
	o := &exposeOptions{named: named{Common: c}}
	cmd := c.Command(o, &cobra.Command{
		Use: "expose NAME", Short: "Create a Service for a StatefulSet's pods",
		Long: exposeHelp, Example: exposeExamples,
	})
	flags, s := cmd.Flags(), &o.service
	flags.StringVar(&s.name, "name", "", "name of the Service (default: that of the StatefulSet)")
	flags.StringVar(&s.port, "port", "", "port of the Service, or several with commas (default: those of the containers)")
	flags.StringVar(&s.targetPort, "target-port", "", "number or name of the containers' port (default: the same as --port)")
	flags.StringVar(&s.protocol, "protocol", "", "TCP, UDP or SCTP (default: that of the containers' port, or TCP)")
	flags.StringVar(&s.kind, "type", "", "ClusterIP, NodePort, LoadBalancer or ExternalName (default: ClusterIP)")
	flags.StringVar(&s.selector, "selector", "", "selector of the Service, such as app=web (default: that of the StatefulSet)")
	flags.StringVarP(&s.labels, "labels", "l", "", "labels of the Service, such as app=web (default: those of the StatefulSet)")
	flags.StringVar(&s.clusterIP, "cluster-ip", "", "address in the cluster; None makes the Service headless (default: assigned)")
	flags.StringVar(&s.externalIP, "external-ip", "", "additional address outside of Kubernetes, which must lead to a node")
	flags.StringVar(&s.loadBalancerIP, "load-balancer-ip", "", "address of the load balancer, with --type LoadBalancer")
	flags.StringVar(&s.affinity, "session-affinity", "", "None, or ClientIP to send a client to the same pod each time")
	addManager(flags, &o.manager, exposeManager)
	o.dryRun = command.AddDryRun(flags, "only print the Service")
	o.result = command.AddPrinter(cmd)
	return cmd
}

// Validate rejects invalid values.
func (o *exposeOptions) Validate() error {
	for flag, value := range map[string]string{"--selector": o.service.selector, "--labels": o.service.labels} {
		if _, err := labels.ConvertSelectorToLabelsMap(value); err != nil {
			return command.Usagef("%s must be KEY=VALUE, or several with commas: %v", flag, err)
		}
	}
	if affinity := o.service.affinity; affinity != "" && affinity != "None" && affinity != "ClientIP" {
		return command.Usagef("--session-affinity must be None or ClientIP, not %q", affinity)
	}
	if _, err := portsIn(o.service.port); err != nil {
		return command.Usagef("%v", err)
	}
	return o.result.Validate()
}

// Run creates the Service.
func (o *exposeOptions) Run(ctx context.Context) error {
	s, err := o.find(ctx)
	if err != nil {
		return err
	}
	service, err := o.service.of(s.StatefulSet)
	if err != nil {
		return fmt.Errorf("cluster %s: %w", s.connection.Name(), err)
	}
	if !o.dryRun.Client() {
		err = s.connection.Live().Create(ctx, service, &client.CreateOptions{DryRun: o.dryRun.OfRequest(), FieldManager: o.manager})
	}
	switch {
	case apierrors.IsAlreadyExists(err):
		return fmt.Errorf("cluster %s: Service %s/%s already exists: choose another --name", s.connection.Name(), service.Namespace, service.Name)
	case err != nil:
		return fmt.Errorf("cluster %s: creating Service %s/%s: %w", s.connection.Name(), service.Namespace, service.Name, err)
	}
	return o.PrintResult(o.result, service, "exposed"+o.dryRun.Suffix())
}

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
