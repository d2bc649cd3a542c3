package clusters

import (
	"sync"

	"k8s.io/client-go/rest"
)

// Pool shares one Connection between all who ask for the same key, and forgets it
// when the last of them lets go.
type Pool struct {
	mu      sync.Mutex
	entries map[string]*entry
	// held is the allowance of each tenant, in bytes.
	held       int64
	allowances map[Tenant]*Allowance
}

type entry struct {
	connection *Connection
	users      int
}

// NewPool returns an empty pool. Of what the clusters of one tenant answer no more than so many
// bytes are held.
func NewPool(held int64) *Pool {
	return &Pool{entries: map[string]*entry{}, held: held, allowances: map[Tenant]*Allowance{}}
}

// Tenant is whose allowance holds what a cluster answers; empty: it is trusted.
type Tenant string

// Get returns the connection of a key, made from config when there is none yet.
// The key must name cluster, identity and credentials: whoever may not use those
// must not learn the key. release must be called once.
func (p *Pool) Get(key, name string, config *rest.Config, tenant Tenant) (connection *Connection, release func(), err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	shared, found := p.entries[key]
	if !found {
		connection, err := ConnectWithin(name, config, p.allowance(tenant))
		if err != nil {
			return nil, nil, err
		}
		shared = &entry{connection: connection}
		p.entries[key] = shared
	}
	shared.users++
	return shared.connection, sync.OnceFunc(func() { p.release(key, shared) }), nil
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

func (p *Pool) release(key string, shared *entry) {
	p.mu.Lock()
	defer p.mu.Unlock()
	shared.users--
	if shared.users == 0 {
		delete(p.entries, key)
		shared.connection.close()
	}
}

// Len is how many connections are held.
func (p *Pool) Len() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.entries)
}
