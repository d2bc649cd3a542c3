package clusters

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"sync"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/flowcontrol"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/internal/clusters/lists"
	"github.com/sliceshift/sliceshift/internal/clusters/portforward"
	"github.com/sliceshift/sliceshift/internal/clusters/slim"
	"github.com/sliceshift/sliceshift/internal/clusters/starting"
	"github.com/sliceshift/sliceshift/internal/printable"
)

// core is shared by all connections to one cluster under one identity: transport, served resources and watches.
type core struct {
	config *rest.Config
	// transport is the HTTP client without a guard. Each connection guards it separately. http is the guarded client for
	// watches.
	transport, http *http.Client
	// upgrading returns a client for requests that upgrade to a connection. It is created when first needed.
	upgrading func() (*http.Client, error)
	guard     *guard
	// skew is the difference between the clock of the API server and the local clock.
	skew   *skew
	scheme *runtime.Scheme
	mapper resources
	hub    *hub
	// volumes deduplicates volumes of all cores of a pool.
	volumes *slim.Volumes
	// share charges watched data to tenants. nil means that nothing is charged.
	share *share
	// nodes are the recently listed nodes. nil means that none are kept.
	nodes *keptNodes

	mu     sync.Mutex
	spaces map[Scope]*store
}

// sharedScheme is the scheme of all cores. It is not changed any more. A scheme for each of a hundred identities would waste
// memory.
var sharedScheme = sync.OnceValue(NewScheme)

// newCore prepares the connection to a cluster. volumes deduplicates its volumes. If mapper is nil, discovery finds the
// served resources. If booked is true, the cluster is untrusted, and watched data is charged to the tenants that connect.
func newCore(name string, config *rest.Config, mapper meta.RESTMapper, volumes *slim.Volumes, booked bool) (*core, error) {
	config = rest.CopyConfig(config)
	config.UserAgent = "sliceshift"
	clock := &skew{}
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return printable.Transport{Next: starting.New(counted{dated{patience{next}, clock}})}
	})
	if config.QPS > 0 && config.RateLimiter == nil {
		// Otherwise each kind would have its own rate limit.
		config.RateLimiter = flowcontrol.NewTokenBucketRateLimiter(config.QPS, cmp.Or(config.Burst, rest.DefaultBurst))
	}
	c := &core{config: config, skew: clock, scheme: sharedScheme(), hub: newHub(), volumes: volumes, spaces: map[Scope]*store{}}
	var pays room
	if booked {
		config.ContentType, config.AcceptContentTypes = jsonType, jsonType
		c.share = newShare(func() { c.hub.wake(audience{everyone: true}) })
		pays = c.share
	} else {
		c.nodes = &keptNodes{}
	}
	var err error
	if c.transport, err = rest.HTTPClientFor(config); err != nil {
		return nil, fmt.Errorf("cluster %s: %w", name, err)
	}
	c.upgrading = sync.OnceValues(func() (*http.Client, error) { return portforward.NewClient(config) })
	c.http, c.guard = guarded(name, c.transport, c.scheme, pays)
	c.mapper.within = config.Timeout
	if c.mapper.RESTMapper = mapper; mapper == nil {
		if c.mapper.RESTMapper, err = apiutil.NewDynamicRESTMapper(config, c.http); err != nil {
			return nil, fmt.Errorf("cluster %s: %w", name, err)
		}
	}
	c.http = lasting(c.http)
	return c, nil
}

// connect returns a connection for one more user of the cluster, under a display name. The allowance limits the memory for
// live reads and watches. nil means no limit.
func (c *core) connect(name string, allowance *Allowance) (*Connection, error) {
	payer, err := c.share.join(name, allowance)
	if err != nil {
		return nil, err
	}
	var pays room
	if allowance != nil {
		pays = allowance
	}
	httpClient, guard := guarded(name, c.transport, c.scheme, pays)
	live, err := client.New(c.config, client.Options{HTTPClient: httpClient, Scheme: c.scheme, Mapper: c.mapper})
	if err != nil {
		c.share.leave(payer)
		return nil, fmt.Errorf("cluster %s: %w", name, err)
	}
	pods, err := lists.NewLister(c.config, httpClient, c.scheme, c.mapper, c.cached)
	if err != nil {
		c.share.leave(payer)
		return nil, fmt.Errorf("cluster %s: %w", name, err)
	}
	return &Connection{
		name: name, core: c, live: client.WithFieldOwner(live, api.FieldManager), pods: pods, guard: guard, payer: payer, batches: lists.NewBatches(onNobody(name)),
	}, nil
}

// cached returns a store that shows the namespace, or nil.
func (c *core) cached(namespace string) client.Reader {
	c.mu.Lock()
	defer c.mu.Unlock()
	for scope, space := range c.spaces {
		if scope != clusterWide && scope.Namespace == namespace && space.shows() {
			return space
		}
	}
	return nil
}

// close returns the memory that is reserved for watches.
func (c *core) close() { c.guard.close() }

// enter returns the store of a scope, for one more view.
func (c *core) enter(ctx context.Context, scope Scope) *store {
	c.mu.Lock()
	defer c.mu.Unlock()
	space := c.spaces[scope]
	if space == nil || space.failed() {
		space = c.newStore(ctx, scope.part())
		c.spaces[scope] = space
	}
	space.users++
	return space
}

// exit releases the store of a closed view.
func (c *core) exit(scope Scope, space *store) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if space.users--; space.users > 0 {
		return
	}
	space.close()
	if c.spaces[scope] == space {
		delete(c.spaces, scope)
	}
}
