package kind

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/sliceshift/sliceshift/e2e/kind/docker"
)

// Crash ends a machine like a power cut and starts it again. It returns when the node was seen not Ready and is Ready
// again.
func (p *Pair) Crash(ctx context.Context, c *Cluster, node string) error {
	begin := time.Now()
	if err := docker.Run(ctx, "kill", node); err != nil {
		return err
	}
	if err := docker.Run(ctx, "start", node); err != nil {
		return err
	}
	if err := p.Routes(ctx); err != nil {
		return err
	}
	return c.awaitNode(ctx, node, func(ready *corev1.NodeCondition) bool {
		return ready.Status == corev1.ConditionTrue && ready.LastHeartbeatTime.After(begin)
	})
}

// CutOff blocks the connection from a node to the API server. The pods of the node continue to run, unseen by the
// cluster.
func (c *Cluster) CutOff(ctx context.Context, node string) error {
	address, err := Address(ctx, c.ControlPlane())
	if err != nil {
		return err
	}
	return In(ctx, node, "ip", "route", "add", "blackhole", address+"/32")
}

// Heal restores the connection, and waits until the node is Ready.
func (c *Cluster) Heal(ctx context.Context, node string) error {
	address, err := Address(ctx, c.ControlPlane())
	if err != nil {
		return err
	}
	if err := In(ctx, node, "ip", "route", "del", "blackhole", address+"/32"); err != nil {
		return err
	}
	return c.AwaitNode(ctx, node, corev1.ConditionTrue)
}

// Freeze suspends every process of a node. On a busy machine, processes may start faster than the runtime suspends
// them; the runtime then gives up and resumes them all. Freeze retries.
func Freeze(ctx context.Context, node string) error {
	const interval, patience = time.Second, 30 * time.Second
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	var refused error
	err := wait.PollUntilContextCancel(ctx, interval, true, func(ctx context.Context) (bool, error) {
		refused = docker.Run(ctx, "pause", node)
		if refused != nil && !strings.Contains(refused.Error(), "unable to freeze") {
			return false, refused
		}
		return refused == nil, nil
	})
	return cmp.Or(refused, err)
}

// Thaw resumes a frozen node, and waits until the node is Ready.
func (c *Cluster) Thaw(ctx context.Context, node string) error {
	if err := docker.Run(ctx, "unpause", node); err != nil {
		return err
	}
	return c.AwaitNode(ctx, node, corev1.ConditionTrue)
}

// AwaitNode waits until the Ready condition of a node has the given status.
func (c *Cluster) AwaitNode(ctx context.Context, node string, status corev1.ConditionStatus) error {
	return c.awaitNode(ctx, node, func(ready *corev1.NodeCondition) bool { return ready.Status == status })
}

func (c *Cluster) awaitNode(ctx context.Context, name string, reached func(*corev1.NodeCondition) bool) error {
	const interval = 200 * time.Millisecond
	err := wait.PollUntilContextCancel(ctx, interval, true, func(ctx context.Context) (bool, error) {
		node, err := c.Client.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return false, nil //nolint:nilerr // the API server may be away with its machine
		}
		for i := range node.Status.Conditions {
			if condition := &node.Status.Conditions[i]; condition.Type == corev1.NodeReady {
				return reached(condition), nil
			}
		}
		return false, nil
	})
	if err != nil {
		return fmt.Errorf("cluster %s: node %s is not as it should be: %w", c.Name, name, err)
	}
	return nil
}

// Break cuts the TCP connections to a port of the pods of a node. For the time lasts, each packet to the port is
// answered with a reset. It returns the number of those packets. The node runs the whole script, so the link recovers
// even if this process ends.
func Break(ctx context.Context, node string, port int32, lasts time.Duration) (int, error) {
	rule := fmt.Sprintf("FORWARD -p tcp --dport %d -j REJECT --reject-with tcp-reset", port)
	script := fmt.Sprintf("iptables -w -I %s; sleep %.3f; iptables -w -nvxL FORWARD 1; iptables -w -D %[1]s", rule, lasts.Seconds())
	counted, err := docker.Output(ctx, "exec", node, "sh", "-c", script)
	if err != nil {
		return 0, fmt.Errorf("break the way to port %d of pods of %s: %w", port, node, err)
	}
	first, _, _ := strings.Cut(strings.TrimSpace(counted), " ")
	return strconv.Atoi(first)
}

// Kill kills the processes of a program in a pod of a node of this machine, like the OOM killer, and returns how many.
func Kill(pod types.UID, program string) (int, error) {
	// The path of a process's cgroup contains the uid of its pod, with dashes or with underscores.
	uid := strings.ReplaceAll(string(pod), "-", "_")
	found, err := filepath.Glob("/proc/[0-9]*/comm")
	if err != nil {
		return 0, err
	}
	killed := 0
	for _, path := range found {
		name, err := os.ReadFile(path)
		if err != nil || strings.TrimSpace(string(name)) != program {
			continue // it has ended, or is another program
		}
		groups, err := os.ReadFile(filepath.Join(filepath.Dir(path), "cgroup"))
		if err != nil || !strings.Contains(strings.ReplaceAll(string(groups), "-", "_"), uid) {
			continue
		}
		number, err := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		if err == nil {
			err = syscall.Kill(number, syscall.SIGKILL)
		}
		switch {
		case errors.Is(err, syscall.ESRCH):
		case err != nil:
			return killed, fmt.Errorf("kill %s of pod %s: %w", program, pod, err)
		default:
			killed++
		}
	}
	return killed, nil
}

// Routes gives every node a route to the pods of every other node of all clusters. A restart of a node loses its
// routes, so call Routes again after it.
func (p *Pair) Routes(ctx context.Context) error {
	ways := map[string]string{} // from the subnet of a node's pods to its address
	var all []string
	for _, c := range p.All() {
		list, err := c.Client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
		if err != nil {
			return fmt.Errorf("cluster %s: list the nodes: %w", c.Name, err)
		}
		for _, node := range list.Items {
			address, err := Address(ctx, node.Name)
			if err != nil {
				return err
			}
			ways[node.Spec.PodCIDR] = address
		}
		all = append(all, c.Nodes...)
	}
	for _, node := range all {
		if err := addRoutes(ctx, node, ways); err != nil {
			return err
		}
	}
	return nil
}

func addRoutes(ctx context.Context, node string, ways map[string]string) error {
	own, err := Address(ctx, node)
	if err != nil {
		return err
	}
	for subnet, address := range ways {
		if address == own {
			continue
		}
		if err := In(ctx, node, "ip", "route", "replace", subnet, "via", address); err != nil {
			return fmt.Errorf("route from %s to the pods of %s: %w", node, address, err)
		}
	}
	return nil
}
