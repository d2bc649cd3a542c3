package scheduling

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/internal/shell"
)

// nodeOf returns a schedulable node in a zone; in none if zone is empty.
func nodeOf(name, zone string, change ...func(*corev1.Node)) corev1.Node {
	node := corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{corev1.LabelHostname: name}},
		Status: corev1.NodeStatus{
			Conditions:  []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}},
			Allocatable: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("4"), corev1.ResourceMemory: resource.MustParse("8Gi")},
		},
	}
	if zone != "" {
		node.Labels[corev1.LabelTopologyZone] = zone
	}
	for _, each := range change {
		each(&node)
	}
	return node
}

func tainted(node *corev1.Node) {
	node.Spec.Taints = []corev1.Taint{{Key: "dedicated", Value: "batch", Effect: corev1.TaintEffectNoSchedule}}
}

var itself = &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}

// demandOf returns a demand of three pods with a changed template.
func demandOf(change func(*corev1.PodSpec)) Demand {
	d := Demand{Object: "StatefulSet shop/web in cluster east", Cluster: "west", Kubectl: shell.Kubectl{Flags: "--context west"}, Namespace: "shop", Pods: 3}
	d.Template.Labels = map[string]string{"app": "web"}
	d.Template.Spec.Containers = []corev1.Container{{Name: "app"}}
	if change != nil {
		change(&d.Template.Spec)
	}
	return d
}

func asks(name corev1.ResourceName, amount string) func(*corev1.PodSpec) {
	return func(s *corev1.PodSpec) {
		s.Containers[0].Resources.Requests = corev1.ResourceList{name: resource.MustParse(amount)}
	}
}

func spread(key string, minDomains *int32, when corev1.UnsatisfiableConstraintAction) func(*corev1.PodSpec) {
	return func(s *corev1.PodSpec) {
		s.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{MaxSkew: 1, TopologyKey: key, WhenUnsatisfiable: when, LabelSelector: itself, MinDomains: minDomains}}
	}
}

func antiAffinity(term corev1.PodAffinityTerm) func(*corev1.PodSpec) {
	return func(s *corev1.PodSpec) {
		s.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{term}}}
	}
}

func affinity(term corev1.PodAffinityTerm) func(*corev1.PodSpec) {
	return func(s *corev1.PodSpec) {
		s.Affinity = &corev1.Affinity{PodAffinity: &corev1.PodAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{term}}}
	}
}

// TestFit: a reason why no node of the destination can take the pods is reported; a reason that excludes only some
// nodes is not.
func TestFit(t *testing.T) {
	three := []corev1.Node{nodeOf("a", "1"), nodeOf("b", "2"), nodeOf("c", "")}
	zoned := three[:2]
	const hostname, zone = corev1.LabelHostname, corev1.LabelTopologyZone
	for name, tc := range map[string]struct {
		change func(*corev1.PodSpec)
		nodes  []corev1.Node
		// says is a part of the message; empty if fit nodes can take the pods.
		says string
		fit  int
	}{
		"nothing is asked for":  {nil, three, "", 3},
		"a cluster of no nodes": {nil, nil, "", 0},
		"cordoned, not Ready": {nil, []corev1.Node{
			nodeOf("a", "", func(n *corev1.Node) { n.Spec.Unschedulable = true }), nodeOf("b", "", func(n *corev1.Node) { n.Status.Conditions = nil }), nodeOf("c", ""),
		}, "", 1},
		"a selector that one meets":  {func(s *corev1.PodSpec) { s.NodeSelector = map[string]string{zone: "1"} }, three, "", 1},
		"a selector that none meets": {func(s *corev1.PodSpec) { s.NodeSelector = map[string]string{"disk": "ssd"} }, three, "nodeSelector or nodeAffinity", 0},
		"an affinity that none meets": {func(s *corev1.PodSpec) {
			s.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{
				NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchExpressions: []corev1.NodeSelectorRequirement{{Key: zone, Operator: corev1.NodeSelectorOpIn, Values: []string{"9"}}}}},
			}}}
		}, three, "nodeSelector or nodeAffinity", 0},
		"one is tainted":  {nil, []corev1.Node{nodeOf("a", "", tainted), nodeOf("b", "")}, "", 1},
		"all are tainted": {nil, []corev1.Node{nodeOf("a", "", tainted)}, "does not tolerate, dedicated=batch:NoSchedule", 0},
		"a taint tolerated": {func(s *corev1.PodSpec) {
			s.Tolerations = []corev1.Toleration{{Key: "dedicated", Operator: corev1.TolerationOpExists}}
		}, []corev1.Node{nodeOf("a", "", tainted)}, "", 1},
		"too large for any":          {asks(corev1.ResourceMemory, "9Gi"), three, "as much as one pod asks for, even when it is empty: memory 9Gi", 0},
		"large enough":               {asks(corev1.ResourceMemory, "8Gi"), three, "", 3},
		"all are cordoned":           {nil, []corev1.Node{nodeOf("a", "", func(n *corev1.Node) { n.Spec.Unschedulable = true })}, "each is cordoned or not Ready", 0},
		"spread over zones":          {spread(zone, nil, corev1.DoNotSchedule), three, "", 2},
		"over racks":                 {spread("rack", nil, corev1.DoNotSchedule), three, "topologySpreadConstraints with whenUnsatisfiable: DoNotSchedule, rack", 0},
		"over racks, if it may":      {spread("rack", nil, corev1.ScheduleAnyway), three, "", 3},
		"over three zones":           {spread(zone, new(int32(3)), corev1.DoNotSchedule), three, "2 domains of topology.kubernetes.io/zone", 0},
		"over two zones":             {spread(zone, new(int32(2)), corev1.DoNotSchedule), three, "", 2},
		"apart, enough nodes":        {antiAffinity(corev1.PodAffinityTerm{TopologyKey: hostname, LabelSelector: itself}), three, "", 3},
		"apart, too few zones":       {antiAffinity(corev1.PodAffinityTerm{TopologyKey: zone, LabelSelector: itself}), zoned, "have 2 values of it: 3 pods will run there", 0},
		"apart, a node without":      {antiAffinity(corev1.PodAffinityTerm{TopologyKey: zone, LabelSelector: itself}), three, "", 3},
		"apart from others":          {antiAffinity(corev1.PodAffinityTerm{TopologyKey: zone, LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "db"}}}), zoned, "", 2},
		"apart in another namespace": {antiAffinity(corev1.PodAffinityTerm{TopologyKey: zone, LabelSelector: itself, Namespaces: []string{"other"}}), zoned, "", 2},
		"apart from other revisions": {antiAffinity(corev1.PodAffinityTerm{TopologyKey: zone, LabelSelector: itself, MismatchLabelKeys: []string{"v"}}), zoned, "", 2},
		"near to each other":         {affinity(corev1.PodAffinityTerm{TopologyKey: zone, LabelSelector: itself}), three, "", 2},
		"near, by no label":          {affinity(corev1.PodAffinityTerm{TopologyKey: "rack", LabelSelector: itself}), three, "topologyKey of its podAffinity, rack", 0},
	} {
		t.Run(name, func(t *testing.T) {
			d := demandOf(tc.change)
			fitting, found := Fit(d, tc.nodes)
			if tc.says == "" {
				if len(found) > 0 || len(fitting) != tc.fit {
					t.Errorf("%d fit; found %+v", len(fitting), found)
				}
				return
			}
			if len(found) != 1 || found[0].Reason != api.ReasonNoNodeFits || found[0].Warning || found[0].Object != d.Object || found[0].Remedy == "" ||
				!strings.Contains(found[0].Message, tc.says) || !strings.Contains(found[0].Message, "cluster west") {
				t.Errorf("found %+v, want %q", found, tc.says)
			}
			for _, f := range found {
				if strings.Count(f.Remedy, "kubectl") != strings.Count(f.Remedy, "kubectl --context west ") {
					t.Errorf("of another cluster: %s", f.Remedy)
				}
			}
		})
	}
}

// TestUnoffered: a device that no node offers is a warning, because it need not be offered by a node.
func TestUnoffered(t *testing.T) {
	const gpu = "example.com/gpu"
	with := func(n *corev1.Node) { n.Status.Allocatable[gpu] = resource.MustParse("1") }
	for name, tc := range map[string]struct {
		asks string
		want int
	}{"it is offered": {"1", 0}, "not so many": {"2", 1}} {
		t.Run(name, func(t *testing.T) {
			fitting, found := Fit(demandOf(asks(gpu, tc.asks)), []corev1.Node{nodeOf("a", ""), nodeOf("b", "", with)})
			if len(fitting) != 2 || len(found) != tc.want || tc.want > 0 && (!found[0].Warning || found[0].Reason != api.ReasonNoNodeFits || !strings.Contains(found[0].Message, "2 of example.com/gpu")) {
				t.Errorf("%d fit; found %+v", len(fitting), found)
			}
		})
	}
}

// TestMoreNodes: an additional node never prevents placement, unless pods are kept apart by a label that not all
// nodes have.
func TestMoreNodes(t *testing.T) {
	changes := []func(*corev1.PodSpec){
		nil, asks(corev1.ResourceCPU, "2"), asks("example.com/gpu", "1"), spread(corev1.LabelTopologyZone, nil, corev1.DoNotSchedule), spread(corev1.LabelTopologyZone, new(int32(2)), corev1.DoNotSchedule),
		antiAffinity(corev1.PodAffinityTerm{TopologyKey: corev1.LabelHostname, LabelSelector: itself}), affinity(corev1.PodAffinityTerm{TopologyKey: corev1.LabelTopologyZone, LabelSelector: itself}),
		func(s *corev1.PodSpec) { s.NodeSelector = map[string]string{corev1.LabelTopologyZone: "1"} },
	}
	rapid.Check(t, func(t *rapid.T) {
		d := demandOf(changes[rapid.IntRange(0, len(changes)-1).Draw(t, "template")])
		d.Pods = rapid.Int32Range(1, 4).Draw(t, "pods")
		var nodes []corev1.Node
		for i := range rapid.IntRange(1, 5).Draw(t, "nodes") {
			node := nodeOf(string(rune('a'+i)), rapid.SampledFrom([]string{"", "1", "2"}).Draw(t, "zone"))
			if rapid.Bool().Draw(t, "tainted") {
				tainted(&node)
			}
			nodes = append(nodes, node)
		}
		fewer, before := Fit(d, nodes[:len(nodes)-1])
		more, after := Fit(d, nodes)
		if len(nodes) > 1 && len(before) == 0 && len(fewer) > 0 && len(after) > 0 || len(after) == 0 && len(more) < len(fewer) {
			t.Fatalf("%d nodes fit, and with one more %d: %+v", len(fewer), len(more), after)
		}
	})
}

// TestPartners: only other pods of the same namespace are selected.
func TestPartners(t *testing.T) {
	db := &metav1.LabelSelector{MatchLabels: map[string]string{"app": "db"}}
	for name, tc := range map[string]struct {
		change func(*corev1.PodSpec)
		want   int
	}{
		"none":                 {nil, 0},
		"of its own kind":      {affinity(corev1.PodAffinityTerm{TopologyKey: "x", LabelSelector: itself}), 0},
		"of others":            {affinity(corev1.PodAffinityTerm{TopologyKey: "x", LabelSelector: db}), 1},
		"of others, elsewhere": {affinity(corev1.PodAffinityTerm{TopologyKey: "x", LabelSelector: db, Namespaces: []string{"db"}}), 0},
	} {
		t.Run(name, func(t *testing.T) {
			if got := Partners(demandOf(tc.change)); len(got) != tc.want {
				t.Errorf("got %v", got)
			}
		})
	}
}
