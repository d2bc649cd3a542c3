package manifest

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"sigs.k8s.io/yaml"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/internal/golden"
)

func spec() Spec {
	return Spec{
		Namespace: "shop", Name: "sliceshift-in-x1-a2-p3", Owner: "m", Fence: "m/7", Attempt: 2, Pass: 3,
		Claim: "sliceshift-in-x1-a2", Mode: corev1.PersistentVolumeFilesystem, Image: "registry.example/sliceshift:1",
	}
}

func full() Spec {
	s := spec()
	s.Connect, s.Bandwidth, s.ReadRate, s.Verify, s.Content = "198.51.100.7:8722", "50Mi", "100Mi", "Full", true
	s.PullSecrets = []corev1.LocalObjectReference{{Name: "registry"}}
	s.ServiceAccount, s.PriorityClass, s.Deadline = "movers", "low", 90*time.Minute
	s.SELinux = &corev1.SELinuxOptions{Level: "s0:c1,c2"}
	security := AsUser(1000, 2000)
	s.Security = &security
	s.Resources = corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("2")}}
	s.Placement = PlacementOf(corev1.PodSpec{
		NodeSelector: map[string]string{"disk": "fast"},
		Affinity: &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{TopologyKey: corev1.LabelHostname}},
		}},
		Tolerations:               []corev1.Toleration{{Key: "db", Operator: corev1.TolerationOpExists}},
		TopologySpreadConstraints: []corev1.TopologySpreadConstraint{{MaxSkew: 1, TopologyKey: corev1.LabelTopologyZone, WhenUnsatisfiable: corev1.DoNotSchedule}},
		SchedulerName:             "packer", RuntimeClassName: new("kata"),
	})
	return s
}

func changed(s Spec, change func(*Spec)) Spec {
	change(&s)
	return s
}

// trusting sets a pass to read only changed content.
func trusting(s *Spec) {
	s.Verify, s.Copy, s.Connect = "Changed", "sliceshift-in-x1-a2", "10.0.0.9:8722"
}

// TestChangedOfDevices: a device is read in full, whatever was requested.
func TestChangedOfDevices(t *testing.T) {
	for _, pod := range []*corev1.Pod{Receiver(changed(spec(), trusting)), Sender(changed(spec(), trusting))} {
		if !slices.Contains(pod.Spec.Containers[0].Args, "--copy=sliceshift-in-x1-a2") {
			t.Errorf("of a tree: %v", pod.Spec.Containers[0].Args)
		}
	}
	block := changed(spec(), trusting)
	block.Mode = corev1.PersistentVolumeBlock
	for _, pod := range []*corev1.Pod{Receiver(block), Sender(block)} {
		for _, arg := range pod.Spec.Containers[0].Args {
			if arg == "--verify=Changed" || strings.HasPrefix(arg, "--copy=") {
				t.Errorf("of a device: %s", arg)
			}
		}
	}
}

// TestPods: the manifests equal those reviewed in testdata.
func TestPods(t *testing.T) {
	for name, object := range map[string]any{
		"receiver.yaml":         Receiver(spec()),
		"receiver-full.yaml":    Receiver(changed(full(), func(s *Spec) { s.Warm = true })),
		"receiver-block.yaml":   Receiver(changed(spec(), func(s *Spec) { s.Mode = corev1.PersistentVolumeBlock })),
		"sender-last.yaml":      Sender(changed(spec(), func(s *Spec) { s.Connect, s.Node = "10.0.0.9:8722", "node-3" })),
		"sender-warm.yaml":      Sender(changed(full(), func(s *Spec) { s.Warm, s.Node, s.Claim = true, "node-3", "data-web-0" })),
		"sender-block.yaml":     Sender(changed(spec(), func(s *Spec) { s.Mode, s.Connect = corev1.PersistentVolumeBlock, "10.0.0.9:8722" })),
		"receiver-relay.yaml":   Receiver(changed(spec(), func(s *Spec) { s.Relayed = true })),
		"sender-relay.yaml":     Sender(changed(spec(), func(s *Spec) { s.Relayed = true })),
		"placeholder.yaml":      Placeholder(full()),
		"receiver-changed.yaml": Receiver(changed(spec(), trusting)),
		"sender-changed.yaml":   Sender(changed(spec(), trusting)),
		"service.yaml":          ServiceFor(spec(), corev1.ServiceTypeLoadBalancer),
	} {
		t.Run(name, func(t *testing.T) {
			text, err := yaml.Marshal(object)
			if err != nil {
				t.Fatal(err)
			}
			golden.Compare(t, name, string(text))
		})
	}
}

// TestNobodysPods: a mover's pod has no label of the application by which Services and budgets select pods. It
// is never Ready, mounts no token, and ends.
func TestNobodysPods(t *testing.T) {
	for _, pod := range []*corev1.Pod{Receiver(full()), Sender(full()), Receiver(spec()), Sender(spec())} {
		for key := range pod.Labels {
			switch key {
			case RoleLabelKey, IncomingLabelKey, api.MigrationLabelKey, "app.kubernetes.io/managed-by":
			default:
				if _, mesh := outOfMeshLabels()[key]; !mesh {
					t.Errorf("%s has the label %s", pod.Name, key)
				}
			}
		}
		if gates := pod.Spec.ReadinessGates; len(gates) != 1 || gates[0].ConditionType != NeverCondition {
			t.Errorf("its readiness gates are %v", gates)
		}
		if pod.Spec.AutomountServiceAccountToken == nil || *pod.Spec.AutomountServiceAccountToken || pod.Spec.RestartPolicy != corev1.RestartPolicyNever || *pod.Spec.ActiveDeadlineSeconds <= 0 {
			t.Errorf("got %+v", pod.Spec)
		}
	}
}

// TestSpecIsLeftAlone: a change to a pod does not change the Spec that it was created from.
func TestSpecIsLeftAlone(t *testing.T) {
	s := full()
	want := full()
	for _, pod := range []*corev1.Pod{Receiver(s), Sender(s)} {
		pod.Spec.SecurityContext.RunAsUser = new(int64(7))
		for _, c := range append(pod.Spec.Containers, pod.Spec.InitContainers...) {
			*c.SecurityContext.AllowPrivilegeEscalation = true
			c.Resources.Requests[corev1.ResourceCPU] = resource.MustParse("9")
		}
		for i := range pod.Spec.TopologySpreadConstraints {
			pod.Spec.TopologySpreadConstraints[i].MaxSkew = 9
		}
		pod.Spec.Tolerations[0].Key = "other"
		if pod.Spec.NodeSelector != nil {
			pod.Spec.NodeSelector["disk"] = "slow"
			pod.Spec.Affinity.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution[0].TopologyKey = "other"
		}
	}
	if diff := cmp.Diff(want, s); diff != "" {
		t.Errorf("it was changed (-want +got):\n%s", diff)
	}
}

// TestExported: a Service to be exported is headless, and its name in the clusterset leads to the receiver.
func TestExported(t *testing.T) {
	service := ServiceFor(spec(), api.ServiceTypeExport)
	if service.Spec.Type != corev1.ServiceTypeClusterIP || service.Spec.ClusterIP != corev1.ClusterIPNone || !service.Spec.PublishNotReadyAddresses {
		t.Errorf("the Service is %+v", service.Spec)
	}
	if got, want := ExportedAddress(service), service.Name+"."+service.Namespace+".svc.clusterset.local:8722"; got != want {
		t.Errorf("reached at %s, want %s", got, want)
	}
}

// TestMadeForAnother: a Service records the type that it was created for, whatever its present type. A Service
// of an older version, or of another owner, is left unchanged.
func TestMadeForAnother(t *testing.T) {
	altered := ServiceFor(spec(), corev1.ServiceTypeLoadBalancer)
	altered.Spec.Type = corev1.ServiceTypeClusterIP
	older := ServiceFor(spec(), corev1.ServiceTypeNodePort)
	delete(older.Annotations, ServiceTypeAnnotationKey)
	theirs := spec()
	theirs.Owner = "another"
	for name, tc := range map[string]struct {
		service *corev1.Service
		asked   corev1.ServiceType
		want    bool
	}{
		"the same":            {ServiceFor(spec(), corev1.ServiceTypeNodePort), corev1.ServiceTypeNodePort, false},
		"the default":         {ServiceFor(spec(), ""), corev1.ServiceTypeClusterIP, false},
		"the default now":     {ServiceFor(spec(), corev1.ServiceTypeClusterIP), "", false},
		"another":             {ServiceFor(spec(), ""), corev1.ServiceTypeLoadBalancer, true},
		"exported":            {ServiceFor(spec(), api.ServiceTypeExport), corev1.ServiceTypeClusterIP, true},
		"to be exported":      {ServiceFor(spec(), ""), api.ServiceTypeExport, true},
		"changed by others":   {altered, corev1.ServiceTypeLoadBalancer, false},
		"of an older version": {older, corev1.ServiceTypeLoadBalancer, false},
		"of somebody else":    {ServiceFor(theirs, ""), corev1.ServiceTypeLoadBalancer, false},
	} {
		if got := MadeForAnother(tc.service, spec().Owner, tc.asked); got != tc.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// TestAddress: the address of a receiver, by the type of the Service.
func TestAddress(t *testing.T) {
	service := func(kind corev1.ServiceType, ingress ...corev1.LoadBalancerIngress) *corev1.Service {
		s := ServiceFor(spec(), kind)
		s.Spec.ClusterIP = "10.96.0.4"
		s.Status.LoadBalancer.Ingress = ingress
		return s
	}
	node := func(s *corev1.Service, port int32) *corev1.Service {
		s.Spec.Ports[0].NodePort = port
		return s
	}
	headless := service("")
	headless.Spec.ClusterIP = corev1.ClusterIPNone
	none := service("")
	none.Spec.Ports = nil
	receiver := &corev1.Pod{Status: corev1.PodStatus{HostIP: "192.0.2.8", PodIP: "10.244.0.3"}}
	for name, tc := range map[string]struct {
		service *corev1.Service
		pod     *corev1.Pod
		want    string
	}{
		"inside":                          {service(""), receiver, "10.96.0.4:8722"},
		"inside, no address":              {ServiceFor(spec(), ""), receiver, ""},
		"headless":                        {headless, receiver, "10.244.0.3:8722"},
		"balancer, not yet":               {service(corev1.ServiceTypeLoadBalancer), receiver, ""},
		"M-081: balancer with a name":     {service(corev1.ServiceTypeLoadBalancer, corev1.LoadBalancerIngress{}, corev1.LoadBalancerIngress{Hostname: "lb.example"}), receiver, "lb.example:8722"},
		"M-081: balancer with an address": {service(corev1.ServiceTypeLoadBalancer, corev1.LoadBalancerIngress{IP: "2001:db8::1"}), receiver, "[2001:db8::1]:8722"},
		"M-081: node":                     {node(service(corev1.ServiceTypeNodePort), 30123), receiver, "192.0.2.8:30123"},
		"node, no port":                   {service(corev1.ServiceTypeNodePort), receiver, ""},
		"node, but nothing runs there":    {node(service(corev1.ServiceTypeNodePort), 30123), &corev1.Pod{}, ""},
		"no port":                         {none, receiver, ""},
	} {
		t.Run(name, func(t *testing.T) {
			if got := Address(tc.service, tc.pod); got != tc.want {
				t.Errorf("%q, want %q", got, tc.want)
			}
		})
	}
}

// TestStayNear: a pod matches its own requirements and the node affinity of each volume, all of which have
// alternatives.
func TestStayNear(t *testing.T) {
	term := func(key string) corev1.NodeSelectorTerm {
		return corev1.NodeSelectorTerm{MatchExpressions: []corev1.NodeSelectorRequirement{{Key: key, Operator: corev1.NodeSelectorOpExists}}}
	}
	s := spec()
	s.Placement.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{
		NodeSelectorTerms: []corev1.NodeSelectorTerm{term("a"), term("b")},
	}}}
	s.Near = []corev1.NodeSelector{{NodeSelectorTerms: []corev1.NodeSelectorTerm{term("1"), term("2")}}, {NodeSelectorTerms: []corev1.NodeSelectorTerm{term("x")}}}
	var got []string
	for _, term := range Receiver(s).Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms {
		var keys []string
		for _, each := range term.MatchExpressions {
			keys = append(keys, each.Key)
		}
		got = append(got, strings.Join(keys, ""))
	}
	if want := []string{"a1x", "a2x", "b1x", "b2x"}; !slices.Equal(got, want) {
		t.Errorf("it matches %v, and is to match %v", got, want)
	}
	if kept := s.Placement.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms; len(kept) != 2 {
		t.Errorf("what it was made from has %d terms", len(kept))
	}
}
