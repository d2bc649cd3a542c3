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

	"github.com/sliceshift/sliceshift/internal/clusters/podlist"
	"github.com/sliceshift/sliceshift/internal/clusters/portforward"
	"github.com/sliceshift/sliceshift/internal/clusters/slim"
	"github.com/sliceshift/sliceshift/internal/clusters/starting"
	"github.com/sliceshift/sliceshift/internal/printable"
	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
)

// core is what all connections to one cluster under one identity share: the way there, what it
// serves, and what is watched of it.
type core struct {
	config *rest.Config
	// transport is the way there; each connection guards it for itself, and http is guarded for
	// what is watched.
	transport, http *http.Client
	// upgrading is a way of which a connection can be had, made when it is asked for.
	upgrading func() (*http.Client, error)
	guard     *guard
	// skew is how far the clock of the API server is from ours.
	skew   *skew
	scheme *runtime.Scheme
	mapper resources
	hub    *hub
	// volumes are kept once for all cores of a pool.
	volumes *slim.Volumes
	// share is on whom what is watched is booked; nil: nobody.
	share *share
	// nodes are those that were listed lately; nil: none are kept.
	nodes *keptNodes

	mu     sync.Mutex
	spaces map[Scope]*store
}

// sharedScheme is that of all cores: nothing is added to it any more, and each of a hundred identities would have as
// large a one.
var sharedScheme = sync.OnceValue(NewScheme)

// newCore prepares the way to a cluster, whose volumes are kept among those that are given. What it serves is found out
// where mapper is nil. What is watched of one that is not trusted is booked on those who connect.
func newCore(name string, config *rest.Config, mapper meta.RESTMapper, volumes *slim.Volumes, booked bool) (*core, error) {
	config = rest.CopyConfig(config)
	config.UserAgent = "sliceshift"
	clock := &skew{}
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return printable.Transport{Next: starting.New(counted{dated{patience{next}, clock}})}
	})
	if config.QPS > 0 && config.RateLimiter == nil {
		// Without it each kind would have a limit of its own.
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

// connect is for one more who asks the cluster, by a name for people. What is read live and what is
// watched is held within its allowance; nil: nothing bounds it.
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
	pods, err := podlist.NewLister(c.config, httpClient, c.scheme, c.mapper, c.cached)
	if err != nil {
		c.share.leave(payer)
		return nil, fmt.Errorf("cluster %s: %w", name, err)
	}
	return &Connection{
		name: name, core: c, live: client.WithFieldOwner(live, api.FieldManager), pods: pods, guard: guard, payer: payer, batches: podlist.NewBatches(onNobody(name)),
	}, nil
}

// cached is what is kept of a namespace already; nil: nothing is.
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

// close returns what is held of what is watched.
func (c *core) close() { c.guard.close() }

// enter returns what is kept of a scope, for one more view.
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

// exit is for a view that is not looked at any more.
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
