package relay

import (
	"context"
	"slices"
	"sync"

	"github.com/sliceshift/sliceshift/migration/plan"
)

// Set are the relays of one migration: those that are wanted run, and no others.
type Set struct {
	dial func(plan.RelayEnd) Dial

	mu      sync.Mutex
	running map[plan.Relay]*running
	over    sync.WaitGroup
}

type running struct {
	relay *Relay
	stop  context.CancelFunc
}

// NewSet relays nothing yet. dial is how the pod of a mover is connected to.
func NewSet(dial func(plan.RelayEnd) Dial) *Set {
	return &Set{dial: dial, running: map[plan.Relay]*running{}}
}

// Keep has those relays run that are wanted, and ends the others among those that it is asked about.
func (s *Set) Keep(wanted []plan.Relay, about func(ordinal int32) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for of, each := range s.running {
		if about(of.Ordinal) && !slices.Contains(wanted, of) {
			each.stop()
			delete(s.running, of)
		}
	}
	for _, of := range wanted {
		if s.running[of] != nil {
			continue
		}
		ctx, stop := context.WithCancel(context.Background()) // until it is not wanted, or the set is closed
		each := &running{relay: &Relay{Sender: s.dial(of.Sender), Receiver: s.dial(of.Receiver)}, stop: stop}
		s.running[of] = each
		s.over.Go(func() { each.relay.Run(ctx) })
	}
}

// Trouble is why nothing gets through for a claim of an ordinal; empty: something does, or nothing is relayed.
func (s *Set) Trouble(ordinal int32, template string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	for of, each := range s.running {
		if of.Ordinal == ordinal && of.Template == template {
			return each.relay.Trouble()
		}
	}
	return ""
}

// Close ends all relays, and returns when nothing of them is left.
func (s *Set) Close() {
	s.Keep(nil, func(int32) bool { return true })
	s.over.Wait()
}
