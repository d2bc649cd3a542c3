package slice

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	slicesapi "github.com/sliceshift/sliceshift/api/apps/v1alpha1"
	"github.com/sliceshift/sliceshift/cmd/migrate/apitest"
)

// listening sets the ports of the containers.
func listening(ports ...corev1.ContainerPort) func(*slicesapi.StatefulSet) {
	return func(set *slicesapi.StatefulSet) { set.Spec.Template.Spec.Containers[0].Ports = ports }
}

func servicePort(name string, port int32, protocol corev1.Protocol, target intstr.IntOrString) corev1.ServicePort {
	return corev1.ServicePort{Name: name, Port: port, Protocol: protocol, TargetPort: target}
}

// TestY8Expose: expose creates the Service that kubectl creates for a Deployment with the same selector and ports.
func TestY8Expose(t *testing.T) {
	selector := map[string]string{"app": "web"}
	one := func(port corev1.ServicePort) corev1.ServiceSpec {
		return corev1.ServiceSpec{Selector: selector, Ports: []corev1.ServicePort{port}}
	}
	eighty := servicePort("", 80, corev1.ProtocolTCP, intstr.FromInt32(80))
	typed := one(eighty)
	typed.Type, typed.LoadBalancerIP, typed.ExternalIPs, typed.SessionAffinity = corev1.ServiceTypeLoadBalancer, "192.0.2.1", []string{"192.0.2.2"}, corev1.ServiceAffinityClientIP
	for name, tc := range map[string]struct {
		args   []string
		set    *slicesapi.StatefulSet
		name   string
		labels map[string]string
		want   corev1.ServiceSpec
	}{
		"a port":         {[]string{"--port", "80"}, webSlice(labelled), "web", map[string]string{"tier": "db"}, one(eighty)},
		"a target":       {[]string{"--port", "80", "--target-port", "8080", "--name", "http"}, webSlice(), "http", nil, one(servicePort("", 80, corev1.ProtocolTCP, intstr.FromInt32(8080)))},
		"a named target": {[]string{"--port", "80", "--target-port", "http"}, webSlice(), "web", nil, one(servicePort("", 80, corev1.ProtocolTCP, intstr.FromString("http")))},
		"the container's": {
			nil, webSlice(listening(corev1.ContainerPort{ContainerPort: 53, Protocol: corev1.ProtocolUDP})), "web", nil,
			one(servicePort("", 53, corev1.ProtocolUDP, intstr.FromInt32(53))),
		},
		"its protocol": {
			[]string{"--port", "53"},
			webSlice(listening(corev1.ContainerPort{ContainerPort: 53, Protocol: corev1.ProtocolUDP})), "web", nil,
			one(servicePort("", 53, corev1.ProtocolUDP, intstr.FromInt32(53))),
		},
		"another protocol": {
			[]string{"--protocol", "SCTP"},
			webSlice(listening(corev1.ContainerPort{ContainerPort: 53, Protocol: corev1.ProtocolUDP}, corev1.ContainerPort{ContainerPort: 53})), "web", nil,
			one(servicePort("", 53, corev1.ProtocolSCTP, intstr.FromInt32(53))),
		},
		"several": {
			nil, webSlice(listening(corev1.ContainerPort{ContainerPort: 80}, corev1.ContainerPort{ContainerPort: 53}, corev1.ContainerPort{ContainerPort: 53, Protocol: corev1.ProtocolUDP}, corev1.ContainerPort{ContainerPort: 80, Name: "again"})), "web", nil,
			corev1.ServiceSpec{Selector: selector, Ports: []corev1.ServicePort{
				servicePort("port-1", 80, corev1.ProtocolTCP, intstr.FromInt32(80)), servicePort("port-2-tcp", 53, corev1.ProtocolTCP, intstr.FromInt32(53)), servicePort("port-2-udp", 53, corev1.ProtocolUDP, intstr.FromInt32(53)),
			}},
		},
		"several given": {[]string{"--port", "80,81"}, webSlice(), "web", nil, corev1.ServiceSpec{Selector: selector, Ports: []corev1.ServicePort{
			servicePort("port-1", 80, corev1.ProtocolTCP, intstr.FromInt32(80)), servicePort("port-2", 81, corev1.ProtocolTCP, intstr.FromInt32(81)),
		}}},
		"headless":     {[]string{"--cluster-ip", "None"}, webSlice(), "web", nil, corev1.ServiceSpec{Selector: selector, ClusterIP: "None"}},
		"other labels": {[]string{"--port", "80", "-l", "a=b,c=d"}, webSlice(labelled), "web", map[string]string{"a": "b", "c": "d"}, one(eighty)},
		"another selector": {
			[]string{"--port", "80", "--selector", "app=web,role=primary"},
			webSlice(expressive), "web", nil,
			corev1.ServiceSpec{Selector: map[string]string{"app": "web", "role": "primary"}, Ports: []corev1.ServicePort{eighty}},
		},
		"all others": {[]string{"--port", "80", "--type", "LoadBalancer", "--load-balancer-ip", "192.0.2.1", "--external-ip", "192.0.2.2", "--session-affinity", "ClientIP"}, webSlice(), "web", nil, typed},
		"an address": {
			[]string{"--port", "80", "--cluster-ip", "10.0.0.9", "--load-balancer-ip", "192.0.2.1"},
			webSlice(), "web", nil,
			corev1.ServiceSpec{Selector: selector, Ports: []corev1.ServicePort{eighty}, ClusterIP: "10.0.0.9"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			east := apitest.Serve(t, podResources(), tc.set)
			c := newConsole(append([]string{"expose", "web", "-n", "shop", "--kubeconfig", east.Kubeconfig(t)}, tc.args...)...)
			c.Expect(t, 0, "service/"+tc.name+" exposed\n", "")
			var service corev1.Service
			if err := east.Store.Get(context.WithoutCancel(t.Context()), client.ObjectKey{Namespace: "shop", Name: tc.name}, &service); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, service.Spec); diff != "" {
				t.Errorf("spec (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tc.labels, service.Labels); diff != "" {
				t.Errorf("labels (-want +got):\n%s", diff)
			}
		})
	}
}

// expressive gives a set a selector with an expression.
func expressive(set *slicesapi.StatefulSet) {
	set.Spec.Selector.MatchExpressions = []metav1.LabelSelectorRequirement{{Key: "app", Operator: metav1.LabelSelectorOpExists}}
}

// TestY8ExposeRefused: a Service that cannot be meant is not created, and a dry run creates none.
func TestY8ExposeRefused(t *testing.T) {
	existing := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "taken"}}
	for name, tc := range map[string]struct {
		args             []string
		set              *slicesapi.StatefulSet
		want             int
		wantOut, wantErr string
	}{
		"no port":         {nil, webSlice(), 1, "", "cluster east: the containers of StatefulSet shop/web name no port: choose one with --port"},
		"a bad port":      {[]string{"--port", "http"}, webSlice(), 2, "", `--port must be a number from 1 to 65535, or several with commas, not "http"`},
		"a large port":    {[]string{"--port", "80,70000"}, webSlice(), 2, "", `not "70000"`},
		"expressions":     {[]string{"--port", "80"}, webSlice(expressive), 1, "", "the selector of StatefulSet shop/web has expressions, which a Service cannot have: choose labels with --selector"},
		"a bad selector":  {[]string{"--port", "80", "--selector", "app"}, webSlice(), 2, "", "--selector must be KEY=VALUE"},
		"bad labels":      {[]string{"--port", "80", "-l", "app"}, webSlice(), 2, "", "--labels must be KEY=VALUE"},
		"a bad affinity":  {[]string{"--port", "80", "--session-affinity", "Pod"}, webSlice(), 2, "", `--session-affinity must be None or ClientIP, not "Pod"`},
		"a bad format":    {[]string{"--port", "80", "-o", "wide"}, webSlice(), 2, "", "unable to match a printer"},
		"a taken name":    {[]string{"--port", "80", "--name", "taken"}, webSlice(), 1, "", "cluster east: Service shop/taken already exists: choose another --name"},
		"client dry run":  {[]string{"--port", "80", "--dry-run=client"}, webSlice(), 0, "service/web exposed (dry run)\n", ""},
		"server dry run":  {[]string{"--port", "80", "--dry-run=server"}, webSlice(), 0, "service/web exposed (server dry run)\n", ""},
		"client, as YAML": {[]string{"--port", "80", "--dry-run=client", "-o", "yaml"}, webSlice(), 0, "kind: Service\n", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			east := apitest.Serve(t, podResources(), tc.set, existing.DeepCopy())
			c := newConsole(append([]string{"expose", "web", "-n", "shop", "--kubeconfig", east.Kubeconfig(t)}, tc.args...)...)
			c.Expect(t, tc.want, tc.wantOut, tc.wantErr)
			var all corev1.ServiceList
			if err := east.Store.List(context.WithoutCancel(t.Context()), &all); err != nil || len(all.Items) != 1 {
				t.Errorf("%d Services, %v", len(all.Items), err)
			}
		})
	}
}
