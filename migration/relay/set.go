package relay

import (
	"context"
	"slices"
	"sync"

	"github.com/sliceshift/sliceshift/migration/plan"
)

// Set are the relays of one migration: those that are wanted run, as far as there is room, and no others.
type Set struct {
	dial func(plan.RelayEnd) Dial
	// namespace is whose places they take of a bound; notify is called when one is free that was missing.
	namespace string
	bound     *Bound
	notify    func()

	mu      sync.Mutex
	running map[plan.Relay]*running
	// missing are those that wait for a place, and why.
	missing map[plan.Relay]string
	over    sync.WaitGroup
}

type running struct {
	relay *Relay
	stop  context.CancelFunc
}

// Options are whose relays a set has, and within which bound.
type Options struct {
	// Namespace is that of the migration.
	Namespace string
	Bound     *Bound
	// Notify is called when a place is free that a relay waits for. It must not block.
	Notify func()
}

// NewSet relays nothing yet. dial is how the pod of a mover is connected to.
func NewSet(dial func(plan.RelayEnd) Dial, options Options) *Set {
	return &Set{dial: dial, namespace: options.Namespace, bound: options.Bound, notify: options.Notify, running: map[plan.Relay]*running{}}
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
	s.bound.forget(s)
	missing := map[plan.Relay]string{}
	for of, why := range s.missing {
		if !about(of.Ordinal) {
			missing[of] = why
		}
	}
	s.missing = missing
	for _, of := range wanted {
		if s.running[of] != nil {
			continue
		}
		if why := s.bound.take(s, of.Ahead); why != "" {
			s.missing[of] = why
			continue
		}
		ctx, stop := context.WithCancel(context.Background()) // until it is not wanted, or the set is closed
		each := &running{relay: &Relay{Sender: s.dial(of.Sender), Receiver: s.dial(of.Receiver)}, stop: stop}
		s.running[of] = each
		s.over.Go(func() {
			defer s.bound.leave(s, of.Ahead)
			each.relay.Run(ctx)
		})
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
	for of, why := range s.missing {
		if of.Ordinal == ordinal && of.Template == template {
			return "it waits for its turn: " + why
		}
	}
	return ""
}

// Close ends all relays, and returns when nothing of them is left.
func (s *Set) Close() {
	s.Keep(nil, func(int32) bool { return true })
	s.over.Wait()
}
