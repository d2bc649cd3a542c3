package relay

import (
	"context"
	"slices"
	"sync"

	"github.com/sliceshift/sliceshift/migration/plan"
)

// Set holds the relays of one migration: the wanted ones run, as far as there is room, and no others.
type Set struct {
	dial func(plan.RelayEnd) Dial
	// namespace is the namespace in which places of a bound count. notify is called when a missing place is
	// free.
	namespace string
	bound     *Bound
	notify    func()

	mu      sync.Mutex
	running map[plan.Relay]*running
	// missing maps the relays that wait for a place to the reason.
	missing map[plan.Relay]string
	over    sync.WaitGroup
}

type running struct {
	relay *Relay
	stop  context.CancelFunc
}

// Options configures a Set.
type Options struct {
	// Namespace is the namespace of the migration.
	Namespace string
	Bound     *Bound
	// Notify is called when a place is free for which a relay waits. It must not block.
	Notify func()
}

// NewSet returns a Set without relays. dial returns the function that connects to the pod of a mover.
func NewSet(dial func(plan.RelayEnd) Dial, options Options) *Set {
	return &Set{dial: dial, namespace: options.Namespace, bound: options.Bound, notify: options.Notify, running: map[plan.Relay]*running{}}
}

// Keep starts the wanted relays, and ends the others of the ordinals for which about returns true.
func (s *Set) Keep(wanted []plan.Relay, about func(ordinal int32) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for of, each := range s.running {
		if about(of.Ordinal) && !slices.Contains(wanted, of) {
			each.stop()
			delete(s.running, of)
		}
	}
	missing := map[plan.Relay]string{}
	for of, why := range s.missing {
		if !about(of.Ordinal) {
			missing[of] = why
		}
	}
	s.missing = missing
	if len(missing) == 0 { // otherwise a free place is still of use for another ordinal
		s.bound.forget(s)
	}
	for _, of := range wanted {
		if s.running[of] != nil {
			continue
		}
		if why := s.bound.take(s, of.Ahead); why != "" {
			s.missing[of] = why
			continue
		}
		ctx, stop := context.WithCancel(context.Background()) // ends when it is not wanted any more, or when the set is closed
		each := &running{relay: &Relay{Sender: s.dial(of.Sender), Receiver: s.dial(of.Receiver)}, stop: stop}
		s.running[of] = each
		s.over.Go(func() {
			defer s.bound.leave(s, of.Ahead)
			each.relay.Run(ctx)
		})
	}
}

// Trouble returns the reason why no data gets through for a claim of an ordinal; empty if data does, or if
// nothing is relayed.
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

// Close ends all relays, and returns after all their goroutines have ended.
func (s *Set) Close() {
	s.Keep(nil, func(int32) bool { return true })
	s.over.Wait()
}
