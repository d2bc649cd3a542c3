// Package clusters connects to Kubernetes clusters: one Connection for each
// cluster and identity, live reads that tell an absent object from an unreachable
// API server, and cached views of single namespaces that are shared by whoever
// watches the same one.
package clusters

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	policyv1 "k8s.io/api/policy/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/version"
	kubediscovery "k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	mcsv1alpha1 "sigs.k8s.io/mcs-api/pkg/apis/v1alpha1"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	"github.com/sliceshift/sliceshift/internal/clusters/podlist"
	"github.com/sliceshift/sliceshift/internal/clusters/slim"
	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/workload"
)

// NewScheme returns the types that this product reads and writes.
func NewScheme() *runtime.Scheme {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		appsv1.AddToScheme, corev1.AddToScheme, nodev1.AddToScheme, schedulingv1.AddToScheme, policyv1.AddToScheme, storagev1.AddToScheme,
		autoscalingv2.AddToScheme, batchv1.AddToScheme, authenticationv1.AddToScheme, authorizationv1.AddToScheme, mcsv1alpha1.Install, mcsv1beta1.Install, api.AddToScheme, addKinds,
	} {
		if err := add(scheme); err != nil {
			panic(fmt.Sprintf("building the scheme: %v", err)) // only a programming error gets here
		}
	}
	return scheme
}

func addKinds(scheme *runtime.Scheme) error {
	for _, kind := range workload.All() {
		if err := kind.AddToScheme(scheme); err != nil {
			return err
		}
	}
	return nil
}

// Connection is one cluster under one identity, as one who asks it has it. What is watched over it is
// shared with all others who have it from the same Pool. It is safe for concurrent use.
type Connection struct {
	name string
	// flags lead kubectl there; empty: they are not known.
	flags string
	core  *core
	live  client.Client
	// pods lists pods as package slim leaves them.
	pods  client.Client
	guard *guard
	// payer is on whom what is watched is booked; nil: nobody.
	payer *payer
	// batches are the lists of pods that several wait for.
	batches *podlist.Batches
}

// Connect prepares a connection. It does not talk to the cluster yet. The config's
// QPS must be set by the caller: client-go's default is 5 requests a second.
func Connect(name string, config *rest.Config) (*Connection, error) {
	return ConnectWithin(name, config, nil)
}

// ConnectWithin is Connect for a cluster that is not trusted: what it answers is held within an
// allowance. It is asked in JSON, of which can be told what it will take, but for lists of pods.
func ConnectWithin(name string, config *rest.Config, allowance *Allowance) (*Connection, error) {
	core, err := newCore(name, config, nil, &slim.Volumes{}, allowance != nil)
	if err != nil {
		return nil, err
	}
	return core.connect(name, allowance)
}

// Off is the connection of a cluster that is not to be talked to, because it is lost for
// good. Every read and every write over it is an error, and none leaves this process: what
// is asked of it cannot end up in another cluster.
func Off(name string) (*Connection, error) {
	return Connect(name, &rest.Config{Host: "https://off.invalid", QPS: -1, Transport: refusing{name}})
}

// refusing is a way that leads nowhere.
type refusing struct{ name string }

// RoundTrip implements http.RoundTripper.
func (r refusing) RoundTrip(*http.Request) (*http.Response, error) {
	return nil, fmt.Errorf("cluster %s is to be recovered from: it was declared lost, and nothing is asked of it", r.name)
}

// Name of the cluster, for people.
func (c *Connection) Name() string { return c.name }

// ReachedBy notes the flags that lead kubectl to the cluster, as they are typed. A manager knows none.
func (c *Connection) ReachedBy(flags string) *Connection {
	c.flags = flags
	return c
}

// Flags lead kubectl to the cluster, as they are typed: --context east. Empty where no context is known, as in a manager.
func (c *Connection) Flags() string { return c.flags }

// ID tells one cluster from another, whatever address and name it is reached by: it
// is the UID of the namespace kube-system, which no cluster is without. It is read
// anew each time, because an address may lead elsewhere tomorrow.
func (c *Connection) ID(ctx context.Context) (types.UID, error) {
	var system corev1.Namespace
	if err := c.Live().Get(ctx, client.ObjectKey{Name: metav1.NamespaceSystem}, &system); err != nil {
		return "", fmt.Errorf("reading namespace %s, which identifies a cluster: %w", metav1.NamespaceSystem, err)
	}
	return system.UID, nil
}

// Same says whether two connections are one: to one address, under one identity, within this process. Nothing that an
// API server answers has a part in it.
func (c *Connection) Same(other *Connection) bool {
	return c == other || c != nil && other != nil && c.core == other.core
}

// ServerTime is the time of the cluster's API server at a local time: times that several machines write are compared by it.
func (c *Connection) ServerTime(local time.Time) time.Time { return local.Add(c.Skew()) }

// Version is that of the API server, as it is written in releases: v1.37.2.
func (c *Connection) Version(ctx context.Context) (string, error) {
	discover, err := kubediscovery.NewDiscoveryClientForConfigAndClient(c.core.config, &http.Client{Transport: c.guard, Timeout: c.core.transport.Timeout})
	if err != nil {
		return "", fmt.Errorf("cluster %s: %w", c.name, err)
	}
	answer, err := discover.RESTClient().Get().AbsPath("/version").Do(ctx).Raw()
	if err != nil {
		return "", fmt.Errorf("cluster %s: asking for its version: %w", c.name, err)
	}
	var info version.Info
	if err := json.Unmarshal(answer, &info); err != nil {
		return "", fmt.Errorf("cluster %s: reading its version: %w", c.name, err)
	}
	return info.GitVersion, nil
}

// Live reads and writes straight at the API server. Reads are repeated for a short
// while when the connection fails; writes never are, because the first may have
// landed. All pods of a namespace are listed as package slim leaves them, and those who list them at the same time
// get the same ones: who changes a pod changes a copy. NodesWithin lets nodes be shared, too.
func (c *Connection) Live() client.Client {
	return podlist.Shared{Client: nodes{exact{retrying{c.live}, c.name}, c.core.nodes}, Pods: exact{retrying{c.pods}, c.name}, Batches: c.batches}
}

// Watching lists and watches straight at the API server; nothing is cached, and nothing repeated.
func (c *Connection) Watching() (client.WithWatch, error) {
	watching, err := client.NewWithWatch(c.core.config, client.Options{HTTPClient: c.core.http, Scheme: c.core.scheme, Mapper: c.core.mapper})
	if err != nil {
		return nil, fmt.Errorf("cluster %s: %w", c.name, err)
	}
	return watching, nil
}

// close returns what is held of the cluster's answers.
func (c *Connection) close() {
	c.guard.close()
	c.core.share.leave(c.payer)
}

// Serves says whether the cluster serves a kind in a version. Each identity asks for itself: behind one address there are
// proxies that lead each to a cluster of its own.
func (c *Connection) Serves(ctx context.Context, object client.Object) (bool, error) {
	gvk, err := apiutil.GVKForObject(object, c.core.scheme)
	if err != nil {
		return false, err
	}
	if _, err := c.core.mapper.search(gvk.GroupKind(), gvk.Version); err != nil {
		if meta.IsNoMatchError(err) {
			return false, nil
		}
		return false, fmt.Errorf("cluster %s: %w", c.name, err)
	}
	return true, ctx.Err()
}

// Object is an API object; it is the key type of cache.Options.ByObject.
type Object = client.Object

// NewCache returns a cache of the cluster that shares this connection.
func (c *Connection) NewCache(options cache.Options) (cache.Cache, error) {
	options.HTTPClient, options.Scheme, options.Mapper = c.core.http, c.core.scheme, c.core.mapper
	objects, err := cache.New(c.core.config, options)
	if err != nil {
		return nil, fmt.Errorf("cluster %s: %w", c.name, err)
	}
	return objects, nil
}
