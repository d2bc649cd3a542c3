package kind

import (
	"context"
	"fmt"
	"strings"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/sliceshift/sliceshift/e2e/kind/docker"
)

// Cluster is one of the two.
type Cluster struct {
	// Name is "east" or "west".
	Name string
	// Kubeconfig is a file.
	Kubeconfig string
	// Config and Client reach it from this process.
	Config *rest.Config
	Client kubernetes.Interface
	// Nodes are its containers, the control plane first. A cluster of the user has none: what
	// needs to stop a machine cannot be tried there.
	Nodes []string

	podSubnet, serviceSubnet string
}

// connect reads the kubeconfig.
func (c *Cluster) connect() error {
	config, err := clientcmd.BuildConfigFromFlags("", c.Kubeconfig)
	if err != nil {
		return fmt.Errorf("cluster %s: read %s: %w", c.Name, c.Kubeconfig, err)
	}
	config.QPS, config.Burst = 1000, 2000
	c.Config = config
	c.Client, err = kubernetes.NewForConfig(config)
	return err
}

// Worker is the container of the node that runs the pods.
func (c *Cluster) Worker() string { return c.Nodes[len(c.Nodes)-1] }

// ControlPlane is the container of the node that runs the API server.
func (c *Cluster) ControlPlane() string { return c.Nodes[0] }

// Address is where a node is reached from the nodes of both clusters.
func Address(ctx context.Context, node string) (string, error) {
	address, err := docker.Output(ctx, "inspect", "--format", `{{(index .NetworkSettings.Networks "`+network+`").IPAddress}}`, node)
	if err == nil && address == "" {
		err = fmt.Errorf("node %s has no address on the network %s: is it running?", node, network)
	}
	return address, err
}

// In runs a command in a node.
func In(ctx context.Context, node string, args ...string) error {
	return docker.Run(ctx, append([]string{"exec", node}, args...)...)
}

// nodeNames asks docker for the containers of a cluster, the control plane first.
func nodeNames(ctx context.Context, cluster string) ([]string, error) {
	output, err := docker.Output(ctx, "ps", "-a", "--filter", "label=io.x-k8s.kind.cluster="+cluster, "--format", "{{.Names}}")
	if err != nil {
		return nil, err
	}
	var first, rest []string
	for node := range strings.FieldsSeq(output) {
		if strings.HasSuffix(node, "-control-plane") {
			first = append(first, node)
		} else {
			rest = append(rest, node)
		}
	}
	return append(first, rest...), nil
}
