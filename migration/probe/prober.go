package probe

import (
	"context"
	"time"

	"k8s.io/utils/clock"
)

// Every is the time between two requests.
const Every = 200 * time.Millisecond

// Prober sends requests to a target, each at its time whether or not the one before has ended: who waits for an answer before the next
// request would measure an outage once.
type Prober struct {
	target *Target
	tally  *Tally
	clock  clock.PassiveClock
	every  time.Duration
	// under are the requests that were sent and not counted yet, in their order: no more than can be under way within their deadline.
	under chan *flight
}

// flight is a request that was sent.
type flight struct {
	sample Sample
	done   chan struct{}
	ended  func(Sample)
}

// Start begins to send requests, and returns what ends that. Neither waits for anything.
func Start(target *Target, tally *Tally, times clock.PassiveClock) (stop func()) {
	return newProber(target, tally, times, Every).start()
}

func newProber(target *Target, tally *Tally, times clock.PassiveClock, every time.Duration) *Prober {
	most := int(target.deadline/every) + 2
	return &Prober{target: target, tally: tally, clock: times, every: every, under: make(chan *flight, most)}
}

func (p *Prober) start() (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	go p.send(ctx)
	go p.count(ctx)
	return cancel
}

// send sends a request at each tick.
func (p *Prober) send(ctx context.Context) {
	ticker := time.NewTicker(p.every)
	defer ticker.Stop()
	for {
		p.request(ctx)
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// request sends one, unless too many are under way: after a machine has slept, say.
func (p *Prober) request(ctx context.Context) {
	if len(p.under) == cap(p.under) {
		return
	}
	f := &flight{sample: Sample{Start: p.clock.Now()}, done: make(chan struct{}), ended: p.tally.Send()}
	p.under <- f // there is room: nothing else adds to it
	go func() {
		defer close(f.done)
		began := time.Now()
		f.sample.Failure = p.target.Request(ctx)
		f.sample.Took = time.Since(began)
	}()
}

// count counts requests in the order in which they were sent. Those that the end has cut off have come to nothing.
func (p *Prober) count(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case f := <-p.under:
			<-f.done
			if ctx.Err() != nil {
				return
			}
			f.ended(f.sample)
		}
	}
}
