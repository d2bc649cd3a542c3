package clusters

import (
	"sync"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/sliceshift/sliceshift/internal/clusters/slim"
)

// Pool shares watches among all users of the same key, and removes a key when its last user releases it.
type Pool struct {
	// Mapper holds the resources of the cluster of trusted tenants, so that discovery need not run for each of them. nil
	// means discovery.
	Mapper meta.RESTMapper

	mu    sync.Mutex
	cores map[string]*shared
	// kinds are by API server, and are kept while any connection to it exists.
	kinds map[server]*served
	// held is the allowance of each tenant, in bytes.
	held       int64
	allowances map[Tenant]*Allowance
	// volumes deduplicates the volumes of all clusters.
	volumes slim.Volumes
}

// shared is a core with its connections.
type shared struct {
	core        *core
	server      server
	connections map[user]*lease
}

// user identifies the owner of a connection: a tenant, and its display name of the cluster.
type user struct {
	tenant Tenant
	name   string
}

// lease is a connection with a reference count.
type lease struct {
	*Connection
	holders int
}

// NewPool returns an empty pool. held limits the memory for the answers of all clusters of one tenant, in bytes.
func NewPool(held int64) *Pool {
	return &Pool{cores: map[string]*shared{}, kinds: map[server]*served{}, held: held, allowances: map[Tenant]*Allowance{}}
}

// Tenant identifies the allowance for a cluster's answers. Empty means trusted.
type Tenant string

// Get returns a tenant's connection of a key. It connects with config if there is none yet. All users of a key share its
// watches, so the key must identify cluster, identity and credentials, and must not be available to users that may not use
// these credentials. Trusted and untrusted tenants must not use the same key. release must be called once.
func (p *Pool) Get(key, name string, config *rest.Config, tenant Tenant) (connection *Connection, release func(), err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	of := p.cores[key]
	if of == nil {
		mapper := p.Mapper
		if tenant != "" {
			mapper = nil
		}
		at := serverOf(config)
		core, err := newCore(config.Host, config, mapper, &p.volumes, tenant != "")
		if err != nil {
			return nil, nil, err
		}
		core.mapper.known = p.known(at)
		of = &shared{core: core, server: at, connections: map[user]*lease{}}
	}
	who := user{tenant, name}
	has := of.connections[who]
	if has == nil {
		connection, err := of.core.connect(name, p.allowance(tenant))
		if err != nil {
			p.forget(of.server)
			return nil, nil, err
		}
		has = &lease{Connection: connection}
		of.connections[who] = has
	}
	has.holders++
	p.cores[key] = of
	return has.Connection, sync.OnceFunc(func() { p.release(key, of, who) }), nil
}

// known returns the known resources of a server, or nil if the server has no verified identity.
func (p *Pool) known(at server) *served {
	if at == (server{}) {
		return nil
	}
	if p.kinds[at] == nil {
		p.kinds[at] = &served{kinds: map[schema.GroupVersionKind]*meta.RESTMapping{}}
	}
	return p.kinds[at]
}

// forget removes the known resources of a server without connections.
func (p *Pool) forget(at server) {
	for _, of := range p.cores {
		if of.server == at {
			return
		}
	}
	delete(p.kinds, at)
}

// allowance returns the allowance of a tenant, which all of its clusters share.
func (p *Pool) allowance(tenant Tenant) *Allowance {
	if tenant == "" {
		return nil
	}
	if p.allowances[tenant] == nil {
		p.allowances[tenant] = NewAllowance(p.held)
	}
	return p.allowances[tenant]
}

func (p *Pool) release(key string, of *shared, who user) {
	p.mu.Lock()
	defer p.mu.Unlock()
	has := of.connections[who]
	if has.holders--; has.holders > 0 {
		return
	}
	has.close()
	if delete(of.connections, who); len(of.connections) == 0 {
		of.core.close()
		delete(p.cores, key)
		p.forget(of.server)
	}
}

// Len returns the number of connected clusters, counted for each identity.
func (p *Pool) Len() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.cores)
}
