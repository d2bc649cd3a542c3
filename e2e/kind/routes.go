package kind

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

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
