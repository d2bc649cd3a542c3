package clusters

import (
	"fmt"
	"maps"
	"slices"
	"sync"
)

// room is where what is held is booked.
type room interface {
	// take says whether there is room for so many bytes more, and takes it; give returns it.
	take(n int64) bool
	give(n int64)
}

// share books what is watched of a cluster with all who pay for it, in full with each: so no tenant
// holds more than its own allowance, whoever else pays for the same, and each that is left alone
// with it has paid. A nil one books nothing. It is safe for concurrent use.
type share struct {
	// out is called after somebody was put out.
	out func()

	mu     sync.Mutex
	taken  int64
	payers map[*Allowance]*payer
}

// payer is one tenant.
type payer struct {
	of *Allowance
	// users is how many connections it has, and out is true once its allowance was used up while
	// others could pay; the lock of the share guards both.
	users int
	out   bool
}

func newShare(out func()) *share { return &share{out: out, payers: map[*Allowance]*payer{}} }

// join books all that is held with one more connection's tenant, once for all of its connections.
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

// leave is for a connection that is closed.
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

// putOut returns what a payer has paid.
func (s *share) putOut(p *payer) {
	p.of.give(s.taken)
	delete(s.payers, p.of)
}

// take implements room. Who cannot pay is put out, while anybody can.
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

// pays is the error of one that was put out: it is shown nothing any more.
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

// errFull is the error of a cluster that holds more than there is room for.
type errFull struct{ where string }

func (e errFull) Error() string {
	return fmt.Sprintf("it holds more %s than is kept for one namespace; see what it holds so much of, or raise clusterClient.memory of the manager", e.where)
}
