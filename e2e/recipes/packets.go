package main

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sliceshift/sliceshift/e2e/kind/policy"
)

// packets are those of the pods of one rehearsal.
type packets struct {
	// control are those of the pod without the NetworkPolicy that have passed to a forbidden address: they show that
	// packets are counted.
	control int64
	// inside have passed to pods of the rehearsal, dns to the DNS of the cluster, and left to anything else.
	inside, dns, left int64
	// tried are those that pods behind the NetworkPolicy have sent to anything else.
	tried int64
	// to are the packets that were sent to something else, or have left, each with the name of the receiver.
	to map[string]int64
}

// control is the name of the pod without the NetworkPolicy.
const control = "rehearsal-control"

func (p packets) String() string {
	var text strings.Builder
	fmt.Fprintf(&text, "%d of the pod without the NetworkPolicy passed; of the others %d were sent to the outside and %d left, %d passed to the DNS, %d within",
		p.control, p.tried, p.left, p.dns, p.inside)
	for _, receiver := range slices.Sorted(maps.Keys(p.to)) {
		fmt.Fprintf(&text, "; %d %s", p.to[receiver], receiver)
	}
	return text.String()
}

// census knows the pods of a cluster by their addresses.
type census struct {
	at func(netip.Addr) (policy.Pod, bool)
	// dns is the address of the Service of the cluster's DNS.
	dns string
	// judged are the namespaces of the rehearsals whose packets were judged.
	judged map[string]bool
}

// judge returns the packets of the rehearsals since the last call.
func (c census) judge(flows policy.Flows) (packets, error) {
	p, namespaces := packets{to: map[string]int64{}}, map[string]bool{}
	for _, f := range flows.Passed {
		from, known := c.at(f.From)
		if !known {
			return p, fmt.Errorf("%d packets are of %s, which no pod is known to have had", f.Packets, f.From)
		}
		if !c.rehearses(from) {
			continue
		}
		namespaces[from.Namespace] = true
		switch to, _ := c.at(f.To); {
		case from.Name == control:
			p.control += f.Packets
		case to.Namespace == from.Namespace:
			p.inside += f.Packets
		case c.resolves(f.To):
			p.dns += f.Packets
		default:
			p.left += f.Packets
			p.to["left to "+c.receiver(f.To)] += f.Packets
		}
	}
	for _, f := range flows.Tried {
		from, _ := c.at(f.From)
		if to, _ := c.at(f.To); c.rehearses(from) && from.Name != control && to.Namespace != from.Namespace && !c.resolves(f.To) {
			p.tried += f.Packets
			p.to["sent to "+c.receiver(f.To)] += f.Packets
		}
	}
	maps.Copy(c.judged, namespaces)
	return p, nil
}

// rehearses reports whether a pod is of a rehearsal that was not judged yet.
func (c census) rehearses(pod policy.Pod) bool {
	return strings.HasPrefix(pod.Namespace, "rehearsal-") && !c.judged[pod.Namespace]
}

// resolves reports whether an address is that of the DNS: of its Service, or of its pod.
func (c census) resolves(address netip.Addr) bool {
	pod, _ := c.at(address)
	return address.String() == c.dns || pod.Namespace == metav1.NamespaceSystem && pod.Labels["k8s-app"] == "kube-dns"
}

// receiver names the pod at an address. An address of the other cluster stays as it is.
func (c census) receiver(address netip.Addr) string {
	if pod, known := c.at(address); known {
		return "pod " + pod.Namespace + "/" + pod.Name
	}
	return address.String()
}
