package scheduling

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	apiresource "k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/component-helpers/resource"
	schedulinghelpers "k8s.io/component-helpers/scheduling/corev1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/internal/shell"
	"github.com/sliceshift/sliceshift/migration/plan"
)

// Demand describes the pods that must run at a destination.
type Demand struct {
	// Object names the StatefulSet and its cluster; Cluster is the cluster alone.
	Object, Cluster string
	// Kubectl is the prefix of commands for that cluster.
	Kubectl shell.Kubectl
	// Template of the pods.
	Template corev1.PodTemplateSpec
	// Namespace of the pods.
	Namespace string
	// Pods is their final number.
	Pods int32
}

// TakesPods reports whether a node is Ready and not cordoned.
func TakesPods(node corev1.Node) bool {
	ready := func(c corev1.NodeCondition) bool {
		return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
	}
	return !node.Spec.Unschedulable && slices.ContainsFunc(node.Status.Conditions, ready)
}

// sieve is a rule that each node meets or not. If no node meets it, that is a finding.
type sieve struct {
	meets func(*corev1.Node) bool
	// lacks describes the reason for which the remaining nodes fail the rule; mend is the fix.
	lacks func() string
	mend  string
}

// Fit returns the nodes that could take the pods, or the reason why none can. A cluster without nodes is not checked,
// because an autoscaler may add them for the pods.
func Fit(d Demand, nodes []corev1.Node) (fitting []corev1.Node, found []plan.Finding) {
	for _, node := range nodes {
		if TakesPods(node) {
			fitting = append(fitting, node)
		}
	}
	if len(fitting) == 0 && len(nodes) > 0 {
		return nil, []plan.Finding{{
			Reason: api.ReasonNoNodeFits, Object: d.Object,
			Message: fmt.Sprintf("no node of cluster %s takes pods: each is cordoned or not Ready; a moved ordinal would be stopped and stay Pending", d.Cluster),
			Remedy:  "look at them: " + d.Kubectl.Do("get", "nodes") + "; and " + d.Kubectl.Do("uncordon", "NODE"),
		}}
	}
	for _, rule := range []sieve{named(d), selected(d), tolerated(d, fitting), roomy(d, fitting), spreadable(d), near(d)} {
		left := slices.DeleteFunc(slices.Clone(fitting), func(node corev1.Node) bool { return !rule.meets(&node) })
		if len(left) == 0 && len(fitting) > 0 {
			return nil, []plan.Finding{{
				Reason: api.ReasonNoNodeFits, Object: d.Object, Remedy: rule.mend,
				Message: fmt.Sprintf("no node of cluster %s can take a pod of %s: %s; a moved ordinal would be stopped and stay Pending", d.Cluster, d.Object, rule.lacks()),
			}}
		}
		fitting = left
	}
	return fitting, slices.Concat(crowded(d, fitting), apart(d, fitting), onePort(d, fitting), unoffered(d, fitting))
}

// named checks spec.nodeName, which bypasses the scheduler, and spec.os.
func named(d Demand) sieve {
	name, os := d.Template.Spec.NodeName, d.Template.Spec.OS
	return sieve{
		meets: func(node *corev1.Node) bool {
			return (name == "" || node.Name == name) && (os == nil || node.Labels[corev1.LabelOSStable] == "" || node.Labels[corev1.LabelOSStable] == string(os.Name))
		},
		lacks: func() string {
			if name != "" {
				return "none is called " + name + ", which its template names in spec.nodeName"
			}
			return "none runs operating system " + string(os.Name) + ", which its template names in spec.os"
		},
		mend: "choose nodes by their labels in the source's template before the move, or have such a node there: " + d.Kubectl.Do("get", "nodes", "--show-labels"),
	}
}

// onePort finds pods with a host port that are more than the nodes that can take them.
func onePort(d Demand, nodes []corev1.Node) []plan.Finding {
	for _, c := range d.Template.Spec.Containers {
		for _, port := range c.Ports {
			if port.HostPort == 0 || len(nodes) == 0 || int64(len(nodes)) >= int64(d.Pods) {
				continue
			}
			return []plan.Finding{{
				Reason: api.ReasonNoNodeFits, Object: d.Object,
				Message: fmt.Sprintf("each pod of %s uses host port %d, and %d nodes of cluster %s fit: %d pods will run there, and the last ones would stay Pending", d.Object, port.HostPort, len(nodes), d.Cluster, d.Pods),
				Remedy:  "add nodes, or move fewer ordinals: spec.ordinals.count",
			}}
		}
	}
	return nil
}

// Machines warns of images that may not run on any node that can take the pods, because all these nodes have other
// architectures than the nodes on which the pods run.
func Machines(d Demand, run, nodes []corev1.Node) []plan.Finding {
	archs := func(of []corev1.Node) []string {
		all := map[string]bool{}
		for _, node := range of {
			all[node.Labels[corev1.LabelArchStable]] = true
		}
		delete(all, "")
		return slices.Sorted(maps.Keys(all))
	}
	here, there := archs(run), archs(nodes)
	if len(here) == 0 || len(there) == 0 || slices.ContainsFunc(there, func(arch string) bool { return slices.Contains(here, arch) }) {
		return nil
	}
	return []plan.Finding{{
		Reason: api.ReasonNoNodeFits, Object: d.Object, Warning: true,
		Message: fmt.Sprintf("the nodes of cluster %s that can take the pods of %s are of architecture %s, and its own cluster has %s: an image without the other architecture starts no pod there", d.Cluster, d.Object, plan.Listed(there), plan.Listed(here)),
		Remedy:  "see that the images are built for it, or add nodes of the architecture that they run on now: " + d.Kubectl.Do("get", "nodes", "-L", corev1.LabelArchStable),
	}}
}

// selected checks spec.nodeSelector and the required node affinity.
func selected(d Demand) sieve {
	affinity := nodeaffinity.NewRequiredNodeAffinity(d.Template.Spec.NodeSelector, d.Template.Spec.Affinity)
	return sieve{
		meets: func(node *corev1.Node) bool {
			matches, err := affinity.Match(node)
			return err == nil && matches
		},
		lacks: func() string { return "none has the labels that nodeSelector or nodeAffinity of the template requires" },
		mend:  "label a node there, or make the autoscaler keep one such node: " + d.Kubectl.Do("label", "node", "NODE", "KEY=VALUE") + "; the labels are in the template: spec.nodeSelector, spec.affinity.nodeAffinity",
	}
}

// tolerated checks taints that the pods do not tolerate.
func tolerated(d Demand, nodes []corev1.Node) sieve {
	keepsOut := func(node *corev1.Node) (corev1.Taint, bool) {
		return schedulinghelpers.FindMatchingUntoleratedTaint(logr.Discard(), node.Spec.Taints, d.Template.Spec.Tolerations, func(t *corev1.Taint) bool {
			return t.Effect == corev1.TaintEffectNoSchedule || t.Effect == corev1.TaintEffectNoExecute
		}, true)
	}
	return sieve{
		meets: func(node *corev1.Node) bool {
			_, out := keepsOut(node)
			return !out
		},
		lacks: func() string {
			taints := map[string]bool{}
			for i := range nodes {
				if taint, out := keepsOut(&nodes[i]); out {
					taints[taint.ToString()] = true
				}
			}
			return "each remaining node has a taint that the template does not tolerate, " + plan.Listed(slices.Sorted(maps.Keys(taints)))
		},
		mend: "remove the taint from a node there (" + d.Kubectl.Do("taint", "node", "NODE", "KEY-") + "), or tolerate it in the source's template before the move, which recreates the pods",
	}
}

// requestsOf returns the requests of one pod: those of devices and other extended resources, or all others.
func requestsOf(d Demand, extended bool) corev1.ResourceList {
	requests := resource.PodRequests(&corev1.Pod{Spec: d.Template.Spec}, resource.PodResourcesOptions{})
	maps.DeleteFunc(requests, func(name corev1.ResourceName, _ apiresource.Quantity) bool {
		return strings.Contains(string(name), "/") != extended
	})
	return requests
}

// unoffered warns of devices that no node offers. A scheduler extender, or a DeviceClass of that extended resource
// (KEP-5004), may provide them instead of a node.
func unoffered(d Demand, nodes []corev1.Node) []plan.Finding {
	if len(nodes) == 0 {
		return nil
	}
	requests := requestsOf(d, true)
	for _, name := range slices.Sorted(maps.Keys(requests)) {
		asked := requests[name]
		offers := func(node corev1.Node) bool {
			has := node.Status.Allocatable[name]
			return asked.Cmp(has) <= 0
		}
		if slices.ContainsFunc(nodes, offers) {
			continue
		}
		return []plan.Finding{{
			Reason: api.ReasonNoNodeFits, Object: d.Object, Warning: true,
			Message: fmt.Sprintf("a pod of %s asks for %s of %s, and no node of cluster %s that can take it offers as much: unless a DeviceClass or an extender does, a moved ordinal would stay Pending", d.Object, asked.String(), name, d.Cluster),
			Remedy:  "run the device plugin there, or see that the resource comes from elsewhere: " + d.Kubectl.Do("get", "deviceclasses"),
		}}
	}
	return nil
}

// roomy checks the requests of one pod against an empty node.
func roomy(d Demand, nodes []corev1.Node) sieve {
	requests := requestsOf(d, false)
	small := func(node *corev1.Node) (lacks []string) {
		for name, asked := range requests {
			if has := node.Status.Allocatable[name]; asked.Cmp(has) > 0 {
				lacks = append(lacks, string(name))
			}
		}
		return lacks
	}
	return sieve{
		meets: func(node *corev1.Node) bool { return len(small(node)) == 0 },
		lacks: func() string {
			names := map[string]bool{}
			for i := range nodes {
				for _, name := range small(&nodes[i]) {
					asked := requests[corev1.ResourceName(name)]
					names[name+" "+asked.String()] = true
				}
			}
			return "none has as much as one pod asks for, even when it is empty: " + plan.Listed(slices.Sorted(maps.Keys(names)))
		},
		mend: "add a node that is large enough; to see what there is: " + d.Kubectl.Do("get", "nodes", "-o", "custom-columns=NAME:.metadata.name,HAS:.status.allocatable"),
	}
}
