// Package clusters connects to Kubernetes clusters. It has one Connection for each cluster and identity, live reads that
// distinguish an absent object from an unreachable API server, and cached views of single namespaces. Views of the same
// namespace share their data.
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

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/internal/clusters/lists"
	"github.com/sliceshift/sliceshift/internal/clusters/slim"
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
			panic(fmt.Sprintf("building the scheme: %v", err)) // only a programming error leads here
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

// Connection is a connection to one cluster under one identity. It shares its watches with all connections to the same key
// from one Pool. It is safe for concurrent use.
type Connection struct {
	name string
	// flags are the kubectl flags that select the cluster. Empty means unknown.
	flags string
	core  *core
	live  client.Client
	// pods lists pods in the form of package slim.
	pods  client.Client
	guard *guard
	// payer is the tenant that watched data is charged to, or nil.
	payer *payer
	// batches are the shared lists of pods.
	batches *lists.Batches
}

// Connect returns a connection. It sends no request yet. The caller must set the config's QPS, because client-go's default
// is 5 requests a second.
func Connect(name string, config *rest.Config) (*Connection, error) {
	return ConnectWithin(name, config, nil)
}

// ConnectWithin is Connect for an untrusted cluster: the memory for its answers is limited by an allowance. Requests accept
// JSON only, because the memory of JSON can be estimated while it is read. Lists of pods are an exception.
func ConnectWithin(name string, config *rest.Config, allowance *Allowance) (*Connection, error) {
	core, err := newCore(name, config, nil, &slim.Volumes{}, allowance != nil)
	if err != nil {
		return nil, err
	}
	return core.connect(name, allowance)
}

// Off returns the connection of a lost cluster, which must not receive requests. Each read and write fails inside this
// process, so that no request can reach another cluster.
func Off(name string) (*Connection, error) {
	return Connect(name, &rest.Config{Host: "https://off.invalid", QPS: -1, Transport: refusing{name}})
}

// refusing is a transport that refuses every request.
type refusing struct{ name string }

// RoundTrip implements http.RoundTripper.
func (r refusing) RoundTrip(*http.Request) (*http.Response, error) {
	return nil, fmt.Errorf("cluster %s was declared lost, and the recovery sends no request to it", r.name)
}

// Name is the name of the cluster for display.
func (c *Connection) Name() string { return c.name }

// ReachedBy sets the kubectl flags that select the cluster, as typed. A manager knows none.
func (c *Connection) ReachedBy(flags string) *Connection {
	c.flags = flags
	return c
}

// Flags returns the kubectl flags that select the cluster, as typed, for example --context east. It is empty if no context
// is known, as in a manager.
func (c *Connection) Flags() string { return c.flags }

// ID identifies a cluster independently of its address and name. It is the UID of the namespace kube-system, which exists in
// every cluster. It is read each time, because an address may lead to another cluster later.
func (c *Connection) ID(ctx context.Context) (types.UID, error) {
	var system corev1.Namespace
	if err := c.Live().Get(ctx, client.ObjectKey{Name: metav1.NamespaceSystem}, &system); err != nil {
		return "", fmt.Errorf("reading namespace %s, which identifies a cluster: %w", metav1.NamespaceSystem, err)
	}
	return system.UID, nil
}

// Same reports whether two connections share their core: the same address and identity, within this process. It does not
// depend on any answer of an API server.
func (c *Connection) Same(other *Connection) bool {
	return c == other || c != nil && other != nil && c.core == other.core
}

// ServerTime converts a local time to the time of the cluster's API server. Times that several machines write are compared
// in server time.
func (c *Connection) ServerTime(local time.Time) time.Time { return local.Add(c.Skew()) }

// Version returns the version of the API server, in the form v1.37.2.
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

// Live returns a client that reads and writes without a cache. Reads are retried for a short time when the connection fails.
// Writes are never retried, because the first attempt may have succeeded. Lists of all pods of a namespace have the form of
// package slim, and concurrent callers share the result, which they must not change. NodesWithin allows sharing of nodes
// too. With disk.Only, a list of volumes has little more than their sources.
func (c *Connection) Live() client.Client {
	return lists.Shared{Client: nodes{exact{retrying{c.live}, c.name}, c.core.nodes}, Lists: exact{retrying{c.pods}, c.name}, Batches: c.batches}
}

// Watching returns a client that lists and watches without cache or retries.
func (c *Connection) Watching() (client.WithWatch, error) {
	watching, err := client.NewWithWatch(c.core.config, client.Options{HTTPClient: c.core.http, Scheme: c.core.scheme, Mapper: c.core.mapper})
	if err != nil {
		return nil, fmt.Errorf("cluster %s: %w", c.name, err)
	}
	return watching, nil
}

// close returns the memory that is reserved for the connection.
func (c *Connection) close() {
	c.guard.close()
	c.core.share.leave(c.payer)
}

// Serves reports whether the cluster serves a kind in a version. Each identity asks the API server itself, because a proxy
// may lead identities at one address to different clusters.
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

// NewCache returns a cache of the cluster that uses this connection.
func (c *Connection) NewCache(options cache.Options) (cache.Cache, error) {
	options.HTTPClient, options.Scheme, options.Mapper = c.core.http, c.core.scheme, c.core.mapper
	objects, err := cache.New(c.core.config, options)
	if err != nil {
		return nil, fmt.Errorf("cluster %s: %w", c.name, err)
	}
	return objects, nil
}
