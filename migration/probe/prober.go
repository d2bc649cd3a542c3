package probe

import (
	"context"
	"time"

	"k8s.io/utils/clock"
)

// Every is the time between two requests.
const Every = 200 * time.Millisecond

// Prober sends requests to a target at fixed intervals, whether or not the previous one has ended. If it waited
// for each answer, a whole outage would count as one failed request.
type Prober struct {
	target *Target
	tally  *Tally
	clock  clock.PassiveClock
	every  time.Duration
	// under holds the requests that were sent and not counted yet, in order. Its capacity is the number of
	// requests that can be open within their deadline.
	under chan *flight
}

// flight is a request that was sent.
type flight struct {
	sample Sample
	done   chan struct{}
	ended  func(Sample)
}

// Start starts sending requests, and returns the function that stops them. Neither of the two blocks.
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

// request sends a request, unless too many are open, for instance after the machine was suspended.
func (p *Prober) request(ctx context.Context) {
	if len(p.under) == cap(p.under) {
		return
	}
	f := &flight{sample: Sample{Start: p.clock.Now()}, done: make(chan struct{}), ended: p.tally.Send()}
	p.under <- f // never blocks: only this function adds to it
	go func() {
		defer close(f.done)
		began := time.Now()
		f.sample.Failure = p.target.Request(ctx)
		f.sample.Took = time.Since(began)
	}()
}

// count counts requests in the order in which they were sent. It ignores those that were cancelled by the end.
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
