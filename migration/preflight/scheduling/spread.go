package scheduling

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/plan"
)

// strict returns the topology spread constraints that keep a pod Pending.
func strict(d Demand) []corev1.TopologySpreadConstraint {
	return slices.DeleteFunc(slices.Clone(d.Template.Spec.TopologySpreadConstraints), func(c corev1.TopologySpreadConstraint) bool {
		return c.WhenUnsatisfiable != corev1.DoNotSchedule
	})
}

// spreadable checks the labels of the strict topology spread constraints. A node without one of them takes no such
// pod (kube-scheduler, PodTopologySpread, ErrReasonNodeLabelNotMatch).
func spreadable(d Demand) sieve {
	keys := []string{}
	for _, c := range strict(d) {
		keys = append(keys, c.TopologyKey)
	}
	return sieve{
		meets: func(node *corev1.Node) bool { return hasAll(node, keys) },
		lacks: func() string {
			return "none has the labels of its topologySpreadConstraints with whenUnsatisfiable: DoNotSchedule, " + plan.Listed(keys)
		},
		mend: "label the nodes there: " + d.Kubectl.Do("label", "node", "NODE", "KEY=VALUE") + "; or let the constraint be ScheduleAnyway",
	}
}

// near checks the labels of the required pod affinity. A node without one belongs to no topology domain.
func near(d Demand) sieve {
	keys := []string{}
	for _, term := range togetherWith(d) {
		keys = append(keys, term.TopologyKey)
	}
	return sieve{
		meets: func(node *corev1.Node) bool { return hasAll(node, keys) },
		lacks: func() string { return "none has the topologyKey of its podAffinity, " + plan.Listed(keys) },
		mend:  "label the nodes there: " + d.Kubectl.Do("label", "node", "NODE", "KEY=VALUE"),
	}
}

func hasAll(node *corev1.Node, keys []string) bool {
	return !slices.ContainsFunc(keys, func(key string) bool {
		_, has := node.Labels[key]
		return !has
	})
}

// domains returns how many values of a label the nodes have, and whether every node has the label.
func domains(nodes []corev1.Node, key string) (n int32, all bool) {
	values, all := map[string]bool{}, true
	for _, node := range nodes {
		value, has := node.Labels[key]
		if all = all && has; has {
			values[value] = true
		}
	}
	return int32(len(values)), all //nolint:gosec // as many as there are nodes at most
}

// crowded finds a constraint with minDomains and fewer domains than that. Each domain then takes at most maxSkew pods
// (kube-scheduler, PodTopologySpread, minMatchNum).
func crowded(d Demand, nodes []corev1.Node) []plan.Finding {
	for _, c := range strict(d) {
		has, _ := domains(nodes, c.TopologyKey)
		if c.MinDomains == nil || has >= *c.MinDomains || !matchesItself(d, c.LabelSelector) || int64(has)*int64(c.MaxSkew) >= int64(d.Pods) {
			continue
		}
		return []plan.Finding{{
			Reason: api.ReasonNoNodeFits, Object: d.Object,
			Message: fmt.Sprintf("cluster %s has %d domains of %s for the pods of %s, whose topologySpreadConstraints require %d: each takes %d, and %d pods will run there; the last ones would stay Pending", d.Cluster, has, c.TopologyKey, d.Object, *c.MinDomains, c.MaxSkew, d.Pods),
			Remedy:  fmt.Sprintf("add nodes in %d more domains of %s, or move fewer ordinals", *c.MinDomains-has, c.TopologyKey),
		}}
	}
	return nil
}

// apart finds a required anti-affinity of the pods to each other that has fewer places than pods. There is one place
// for each value of its label; nodes without the label are unlimited.
func apart(d Demand, nodes []corev1.Node) []plan.Finding {
	affinity := d.Template.Spec.Affinity
	if affinity == nil || affinity.PodAntiAffinity == nil {
		return nil
	}
	for _, term := range affinity.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution {
		has, all := domains(nodes, term.TopologyKey)
		if !all || has >= d.Pods || !ofItself(d, term) {
			continue
		}
		return []plan.Finding{{
			Reason: api.ReasonNoNodeFits, Object: d.Object,
			Message: fmt.Sprintf("the podAntiAffinity of %s separates its pods by %s, and the fitting nodes of cluster %s have %d values of it: %d pods will run there, and the last ones would stay Pending", d.Object, term.TopologyKey, d.Cluster, has, d.Pods),
			Remedy:  "add nodes, or move fewer ordinals: spec.ordinals.count",
		}}
	}
	return nil
}

// togetherWith returns the terms of the required pod affinity.
func togetherWith(d Demand) []corev1.PodAffinityTerm {
	if affinity := d.Template.Spec.Affinity; affinity != nil && affinity.PodAffinity != nil {
		return affinity.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution
	}
	return nil
}

// Partners returns the selectors of other pods of the namespace that the required pod affinity needs. A term that
// matches the pod itself is left out, because its first pod may be scheduled anywhere (kube-scheduler,
// InterPodAffinity).
func Partners(d Demand) []labels.Selector {
	var partners []labels.Selector
	for _, term := range togetherWith(d) {
		selector, err := metav1.LabelSelectorAsSelector(term.LabelSelector)
		elsewhere := len(term.Namespaces) > 0 || term.NamespaceSelector != nil
		if err == nil && !elsewhere && !ofItself(d, term) {
			partners = append(partners, selector)
		}
	}
	return partners
}

// ofItself reports whether a term selects the pods that have it.
func ofItself(d Demand, term corev1.PodAffinityTerm) bool {
	own := len(term.Namespaces) == 0 && term.NamespaceSelector == nil || slices.Contains(term.Namespaces, d.Namespace)
	return own && len(term.MismatchLabelKeys) == 0 && matchesItself(d, term.LabelSelector)
}

func matchesItself(d Demand, selector *metav1.LabelSelector) bool {
	matches, err := metav1.LabelSelectorAsSelector(selector)
	return err == nil && matches.Matches(labels.Set(d.Template.Labels))
}
