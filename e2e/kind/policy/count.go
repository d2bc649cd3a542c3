package policy

import (
	"context"
	"encoding/json"
	"fmt"
	"net/netip"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sliceshift/sliceshift/e2e/kind"
	"github.com/sliceshift/sliceshift/e2e/kind/docker"
)

// Counter counts the packets of the pods of one node, by their addresses.
type Counter struct{ node string }

// Flow is the number of packets from the address of a pod to another address.
type Flow struct {
	From, To netip.Addr
	Packets  int64
}

// Flows are the packets of pods. Tried are those that pods have sent, to the addresses that they have named. Passed are
// those that have left the pod's node, or reached another pod or the node itself, after all filters: their address is that of
// the real receiver, behind a Service.
type Flows struct{ Tried, Passed []Flow }

// counting is the table of nftables with the counters. Its chains filter nothing. The one of packets that leave is before the
// rewriting of their source, and leaves out those that the node itself sends, such as refusals, from an address among those of
// its pods.
const counting = `table ip counted {
	set tried { type ipv4_addr . ipv4_addr; flags dynamic; size 65535; counter; }
	set passed { type ipv4_addr . ipv4_addr; flags dynamic; size 65535; counter; }
	chain first { type filter hook prerouting priority -310; ip saddr %[1]s add @tried { ip saddr . ip daddr counter }; }
	chain out { type filter hook postrouting priority 90; iif != 0 ip saddr %[1]s add @passed { ip saddr . ip daddr counter }; }
	chain node { type filter hook input priority 310; ip saddr %[1]s add @passed { ip saddr . ip daddr counter }; }
}
`

// Count begins to count on a node.
func Count(ctx context.Context, at *kind.Cluster, node string) (*Counter, error) {
	found, err := at.Client.CoreV1().Nodes().Get(ctx, node, metav1.GetOptions{})
	if err != nil {
		return nil, fmt.Errorf("cluster %s: read node %s: %w", at.Name, node, err)
	}
	rules := strings.NewReader(fmt.Sprintf(counting, found.Spec.PodCIDR))
	if _, err := docker.Feed(ctx, rules, "exec", "-i", node, "nft", "-f", "-"); err != nil {
		return nil, fmt.Errorf("cluster %s: count the packets of pods on %s: %w", at.Name, node, err)
	}
	return &Counter{node}, nil
}

// Read returns the counts so far.
func (c *Counter) Read(ctx context.Context) (Flows, error) {
	text, err := docker.Output(ctx, "exec", c.node, "nft", "-j", "list", "table", "ip", "counted")
	if err != nil {
		return Flows{}, err
	}
	return flows([]byte(text))
}

// flows reads the counters from nftables' JSON.
func flows(text []byte) (f Flows, err error) {
	var list struct {
		Nftables []struct {
			Set *struct {
				Name string
				Elem []struct {
					Elem struct {
						Val     struct{ Concat []netip.Addr }
						Counter struct{ Packets int64 }
					}
				}
			}
		}
	}
	if err := json.Unmarshal(text, &list); err != nil {
		return f, fmt.Errorf("read the counters of nftables: %w", err)
	}
	to := map[string]*[]Flow{"tried": &f.Tried, "passed": &f.Passed}
	for _, each := range list.Nftables {
		if each.Set == nil || to[each.Set.Name] == nil {
			continue
		}
		for _, e := range each.Set.Elem {
			if len(e.Elem.Val.Concat) != 2 {
				return f, fmt.Errorf("read the counters of nftables: an element of %s has no two addresses", each.Set.Name)
			}
			*to[each.Set.Name] = append(*to[each.Set.Name], Flow{e.Elem.Val.Concat[0], e.Elem.Val.Concat[1], e.Elem.Counter.Packets})
		}
		delete(to, each.Set.Name)
	}
	if len(to) > 0 {
		return f, fmt.Errorf("read the counters of nftables: %d of 2 sets are missing", len(to))
	}
	return f, nil
}
