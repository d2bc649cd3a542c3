// Package environment checks what pods use of their cluster and its nodes without referencing an object: images,
// schedulers, files of a node, and the rights of their account.
package environment

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/dependencies"
	"github.com/sliceshift/sliceshift/migration/endpoint"
	"github.com/sliceshift/sliceshift/migration/plan"
)

// Images warns of images that the nodes of another cluster may not find: images in a registry inside the source's
// cluster or on its nodes, and images that are never pulled.
func Images(sides *endpoint.Pair, spec corev1.PodSpec) []plan.Finding {
	if sides.SameCluster() {
		return nil
	}
	var local, never []string
	for _, v := range dependencies.Values(spec, nil) {
		switch {
		case v.Use.Judged != dependencies.CheckImages:
		case v.Text == string(corev1.PullNever) && strings.HasSuffix(strings.ToLower(v.Field), "pullpolicy"):
			never = append(never, v.From)
		case withinCluster(v.Text):
			local = append(local, fmt.Sprintf("%s (%s)", v.Text, v.From))
		}
	}
	at, object := sides.Destination, sides.Source.Object()
	var found []plan.Finding
	if len(local) > 0 {
		found = append(found, plan.Finding{
			Reason: api.ReasonImageIsLocal, Object: object, Warning: true,
			Message: fmt.Sprintf("the pods of %s use images of a registry that only cluster %s may reach: %s; in cluster %s its name may resolve to another registry, or not at all", object, sides.Source.Cluster, plan.Listed(local), at.Cluster),
			Remedy:  "make sure that the nodes there can pull them by that name, or push them to a registry that both clusters reach, and change the source's template before the move",
		})
	}
	if len(never) > 0 {
		found = append(found, plan.Finding{
			Reason: api.ReasonImageIsLocal, Object: object, Warning: true,
			Message: fmt.Sprintf("imagePullPolicy is Never in the pods of %s (%s): a node of cluster %s that does not have the image starts no pod (ErrImageNeverPull)", object, plan.Listed(never), at.Cluster),
			Remedy:  "load the image onto the nodes there, or set imagePullPolicy to IfNotPresent in the source's template before the move; the nodes: " + at.Kubectl().Do("get", "nodes"),
		})
	}
	return found
}

// withinCluster reports whether an image is in a registry that only one cluster or node can reach: a Service, the
// node itself, a private address, or a name without a domain.
func withinCluster(image string) bool {
	host, _, has := strings.Cut(image, "/")
	if !has || !strings.ContainsAny(host, ".:") && host != "localhost" {
		return false // in the default registry
	}
	if address, err := netip.ParseAddrPort(host); err == nil {
		return ofNetwork(address.Addr())
	}
	if address, err := netip.ParseAddr(strings.Trim(host, "[]")); err == nil {
		return ofNetwork(address)
	}
	name, _, _ := strings.Cut(host, ":")
	labels := strings.Split(name, ".")
	last := labels[len(labels)-1]
	return len(labels) == 1 || slices.Contains(labels, "svc") || slices.Contains([]string{"local", "localhost", "localdomain"}, last) ||
		strings.Contains(last, "-") // no top-level domain has one: NAME.NAMESPACE of a Service
}

func ofNetwork(address netip.Addr) bool {
	return address.IsLoopback() || address.IsPrivate() || address.IsLinkLocalUnicast()
}
