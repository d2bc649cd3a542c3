package kind

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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
