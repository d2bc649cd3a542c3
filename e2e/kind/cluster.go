package kind

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/sliceshift/sliceshift/e2e/kind/docker"
)

// Cluster is one cluster of a Pair.
type Cluster struct {
	// Name is "east", "west" or "hub".
	Name string
	// Kubeconfig is the path of a kubeconfig file.
	Kubeconfig string
	// Config and Client reach the cluster from this process.
	Config *rest.Config
	Client kubernetes.Interface
	// Nodes are its containers, the control plane first. A cluster of the user has none, so tests that stop a machine
	// cannot run there.
	Nodes []string

	podSubnet, serviceSubnet string
	roles                    []string
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

// awaitSystem waits until the system pods are Ready. Until then the nodes unpack images, which would distort what
// tests measure.
func (c *Cluster) awaitSystem(ctx context.Context) error {
	const interval, patience = 500 * time.Millisecond, 5 * time.Minute
	var waiting string
	err := wait.PollUntilContextTimeout(ctx, interval, patience, true, func(ctx context.Context) (bool, error) {
		pods, err := c.Client.CoreV1().Pods(metav1.NamespaceSystem).List(ctx, metav1.ListOptions{})
		if err != nil {
			return false, err
		}
		for i := range pods.Items {
			if !isReady(&pods.Items[i]) {
				waiting = pods.Items[i].Name
				return false, nil
			}
		}
		return true, nil
	})
	if err != nil {
		return fmt.Errorf("cluster %s: pod %s/%s does not become Ready: %w", c.Name, metav1.NamespaceSystem, waiting, err)
	}
	return nil
}

func isReady(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}

// Worker returns the container of the node that runs the pods.
func (c *Cluster) Worker() string { return c.Nodes[len(c.Nodes)-1] }

// ControlPlane returns the container of the node that runs the API server.
func (c *Cluster) ControlPlane() string { return c.Nodes[0] }

// Inside returns the address of the API server for pods of the other cluster.
func (c *Cluster) Inside(ctx context.Context) (string, error) {
	if len(c.Nodes) == 0 {
		return c.Config.Host, nil
	}
	address, err := Address(ctx, c.ControlPlane())
	return "https://" + address + ":6443", err
}

// Address returns the address of a node for the nodes of all clusters.
func Address(ctx context.Context, node string) (string, error) {
	address, err := docker.Output(ctx, "inspect", "--format", `{{(index .NetworkSettings.Networks "`+network+`").IPAddress}}`, node)
	if err == nil && address == "" {
		err = fmt.Errorf("node %s has no address on the network %s: is it running?", node, network)
	}
	return address, err
}

// Process returns the id, on this machine, of the first process of a node.
func Process(ctx context.Context, node string) (int, error) {
	number, err := docker.Output(ctx, "inspect", "--format", "{{.State.Pid}}", node)
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(number)
}

// In runs a command in a node.
func In(ctx context.Context, node string, args ...string) error {
	return docker.Run(ctx, append([]string{"exec", node}, args...)...)
}

// nodeNames returns the containers of a cluster, the control plane first.
func nodeNames(ctx context.Context, cluster string) ([]string, error) {
	output, err := docker.Output(ctx, "ps", "-a", "--filter", "label=io.x-k8s.kind.cluster="+cluster, "--format", "{{.Names}}")
	if err != nil {
		return nil, err
	}
	var first, rest []string
	for node := range strings.FieldsSeq(output) {
		if strings.HasSuffix(node, "-"+controlPlane) {
			first = append(first, node)
		} else {
			rest = append(rest, node)
		}
	}
	return append(first, rest...), nil
}
