package clusters

import (
	"fmt"
	"maps"
	"slices"
	"sync"
)

// room accounts for memory.
type room interface {
	// take reserves n bytes and reports whether they were available. give returns them.
	take(n int64) bool
	give(n int64)
}

// share charges the watched data of a cluster to all of its tenants, in full to each. No tenant can exceed its own
// allowance, even if others share the data, and a tenant that remains alone has already paid. A nil share charges nothing.
// It is safe for concurrent use.
type share struct {
	// out is called after a tenant was removed.
	out func()

	mu     sync.Mutex
	taken  int64
	payers map[*Allowance]*payer
}

// payer is one tenant.
type payer struct {
	of *Allowance
	// users is the number of its connections. out is true once its allowance was used up while others could pay. The lock of
	// the share guards both.
	users int
	out   bool
}

func newShare(out func()) *share { return &share{out: out, payers: map[*Allowance]*payer{}} }

// join charges all watched data to the tenant of a new connection, once for all of its connections.
func (s *share) join(cluster string, of *Allowance) (*payer, error) {
	if s == nil {
		return nil, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.payers[of]
	if p == nil {
		if !of.take(s.taken) {
			return nil, fmt.Errorf("cluster %s: %w", cluster, errFull{"in all that is watched of it"})
		}
		p = &payer{of: of}
		s.payers[of] = p
	}
	p.users++
	return p, nil
}

// leave removes a closed connection.
func (s *share) leave(p *payer) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if p.users--; p.users == 0 && !p.out {
		s.putOut(p)
	}
}

// putOut removes a payer and returns its charge.
func (s *share) putOut(p *payer) {
	p.of.give(s.taken)
	delete(s.payers, p.of)
}

// take implements room. It removes the payers that cannot pay, as long as any payer can.
func (s *share) take(n int64) bool {
	broke, paid := s.charge(n)
	if paid && broke {
		s.out()
	}
	return paid
}

func (s *share) charge(n int64) (broke, paid bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	unable := slices.DeleteFunc(slices.Collect(maps.Values(s.payers)), func(p *payer) bool { return p.of.take(n) })
	if len(unable) == len(s.payers) {
		return false, false
	}
	for _, p := range unable {
		p.out = true
		s.putOut(p)
	}
	s.taken += n
	return len(unable) > 0, true
}

// give implements room.
func (s *share) give(n int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.taken -= n
	for _, p := range s.payers {
		p.of.give(n)
	}
}

// pays returns an error if the payer was removed, because it may not see the data any more.
func (s *share) pays(p *payer) error {
	if s == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if p.out {
		return errFull{"in all that is watched of it"}
	}
	return nil
}

// errFull is the error of a cluster whose data exceeds the allowance.
type errFull struct{ where string }

func (e errFull) Error() string {
	return fmt.Sprintf("it holds more %s than is kept for one namespace; see what it holds so much of, or raise clusterClient.memory of the manager", e.where)
}
