package clusters

import (
	"sync"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/sliceshift/sliceshift/internal/clusters/slim"
)

// Pool shares what is watched between all who ask for the same key, and forgets it when the last of
// them lets go.
type Pool struct {
	// Mapper is of the cluster of tenants that are trusted: what it serves need not be found out for each of
	// them. Nil: it is.
	Mapper meta.RESTMapper

	mu    sync.Mutex
	cores map[string]*shared
	// kinds are by API server, while anybody is connected to it.
	kinds map[server]*served
	// held is the allowance of each tenant, in bytes.
	held       int64
	allowances map[Tenant]*Allowance
	// volumes are those of all clusters, each once.
	volumes slim.Volumes
}

// shared is a core with its connections.
type shared struct {
	core        *core
	server      server
	connections map[user]*lease
}

// user is who has a connection: a tenant, under the name that a person knows the cluster by.
type user struct {
	tenant Tenant
	name   string
}

// lease is a connection that some hold.
type lease struct {
	*Connection
	holders int
}

// NewPool returns an empty pool. Of what the clusters of one tenant answer no more than so many
// bytes are held.
func NewPool(held int64) *Pool {
	return &Pool{cores: map[string]*shared{}, kinds: map[server]*served{}, held: held, allowances: map[Tenant]*Allowance{}}
}

// Tenant is whose allowance holds what a cluster answers; empty: it is trusted.
type Tenant string

// Get returns a tenant's connection of a key, made from config when there is none yet. Who asks for
// the same key shares what is watched, so the key must name cluster, identity and credentials:
// whoever may not use those must not be able to come by the key. Tenants that are trusted and those
// that are not must not ask for the same one. release must be called once.
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

// known is what is known of what a server serves; nil: it does not prove which one it is.
func (p *Pool) known(at server) *served {
	if at == (server{}) {
		return nil
	}
	if p.kinds[at] == nil {
		p.kinds[at] = &served{kinds: map[schema.GroupVersionKind]*meta.RESTMapping{}}
	}
	return p.kinds[at]
}

// forget drops what is known of a server that nobody is connected to.
func (p *Pool) forget(at server) {
	for _, of := range p.cores {
		if of.server == at {
			return
		}
	}
	delete(p.kinds, at)
}

// allowance is shared by all clusters of a tenant.
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

// Len is how many clusters, each under one identity, are connected to.
func (p *Pool) Len() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.cores)
}
