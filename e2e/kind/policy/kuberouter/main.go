// Command kuberouter is the part of kube-router that enforces NetworkPolicies, by iptables and ipset, for the pods of its
// node. The rest of kube-router routes, and balances Services.
package main

import (
	"errors"
	"os"
	"sync"

	"github.com/cloudnativelabs/kube-router/v2/pkg/controllers/netpol"
	"github.com/cloudnativelabs/kube-router/v2/pkg/healthcheck"
	"github.com/cloudnativelabs/kube-router/v2/pkg/options"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
)

func main() {
	if err := run(make(chan struct{})); err != nil {
		klog.ErrorS(err, "Not started")
		os.Exit(1)
	}
}

// run enforces policies until stop is closed. The environment variable NODE_NAME names the node.
func run(stop chan struct{}) error {
	config, err := rest.InClusterConfig()
	if err != nil {
		return err
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	settings := options.NewKubeRouterConfig()
	settings.EnableIPv4 = true
	tables, sets, err := netpol.NewIPTablesHandlers(settings)
	if err != nil {
		return err
	}
	core := client.CoreV1().RESTClient()
	pods, namespaces := informer(core, "pods", &corev1.Pod{}), informer(core, "namespaces", &corev1.Namespace{})
	policies := informer(client.NetworkingV1().RESTClient(), "networkpolicies", &networkingv1.NetworkPolicy{})
	controller, err := netpol.NewNetworkPolicyController(client, settings, pods, policies, namespaces, &sync.Mutex{}, tables, sets)
	if err != nil {
		return err
	}
	for each, handler := range map[cache.SharedIndexInformer]cache.ResourceEventHandler{
		pods: controller.PodEventHandler, namespaces: controller.NamespaceEventHandler, policies: controller.NetworkPolicyEventHandler,
	} {
		if _, err := each.AddEventHandler(handler); err != nil {
			return err
		}
		go each.Run(stop)
	}
	cache.WaitForCacheSync(stop, pods.HasSynced, namespaces.HasSynced, policies.HasSynced)
	beats := make(chan *healthcheck.ControllerHeartbeat)
	go func() {
		for range beats { // nothing watches its health
		}
	}()
	var running sync.WaitGroup
	running.Add(1)
	controller.Run(beats, stop, &running)
	return errors.New("the controller has ended")
}

// informer returns an informer of all objects of a resource.
func informer(client cache.Getter, resource string, of runtime.Object) cache.SharedIndexInformer {
	all := cache.NewListWatchFromClient(client, resource, "", fields.Everything())
	return cache.NewSharedIndexInformer(all, of, 0, cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc})
}
