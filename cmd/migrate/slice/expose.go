package slice

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"

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
