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
}

type entry struct {
	connection *Connection
	users      int
}

// NewPool returns an empty pool.
func NewPool() *Pool { return &Pool{entries: map[string]*entry{}} }

// Get returns the connection of a key, made from config when there is none yet.
// The key must name cluster, identity and credentials: whoever may not use those
// must not learn the key. release must be called once.
func (p *Pool) Get(key, name string, config *rest.Config) (connection *Connection, release func(), err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	shared, found := p.entries[key]
	if !found {
		connection, err := Connect(name, config)
		if err != nil {
			return nil, nil, err
		}
		shared = &entry{connection: connection}
		p.entries[key] = shared
	}
	shared.users++
	return shared.connection, sync.OnceFunc(func() { p.release(key, shared) }), nil
}

func (p *Pool) release(key string, shared *entry) {
	p.mu.Lock()
	defer p.mu.Unlock()
	shared.users--
	if shared.users == 0 {
		delete(p.entries, key)
	}
}

// Len is how many connections are held.
func (p *Pool) Len() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.entries)
}
