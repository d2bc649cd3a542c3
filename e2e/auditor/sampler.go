package auditor

import (
	"context"
	"time"

	"github.com/sliceshift/sliceshift/e2e/auditor/feed"
)

// maxTorn bounds how often a sample reads again because something changed. The next event starts a new sample anyway.
const maxTorn = 8

// minPause keeps the samples of a busy application from overloading its API servers.
const minPause = 2 * time.Millisecond

// sampler takes a sample at every event. Events during a sample share the next one.
type sampler struct {
	woken chan struct{}
	// take takes one sample; judged is false if the state kept changing.
	take func(context.Context) (judged bool, err error)
}

func newSampler(take func(context.Context) (bool, error)) *sampler {
	return &sampler{woken: make(chan struct{}, 1), take: take}
}

// wake requests a sample that begins after this call.
func (s *sampler) wake() {
	select {
	case s.woken <- struct{}{}:
	default:
	}
}

// run takes samples until the context ends, at least one every interval.
func (s *sampler) run(ctx context.Context, interval time.Duration) {
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.woken:
		case <-ticker.C:
		}
		// A failed read is tried again at the next event or tick.
		_, _ = s.take(ctx)
		feed.Pause(ctx, minPause)
	}
}

// settle takes samples until a sample is judged.
func (s *sampler) settle(ctx context.Context) error {
	for {
		judged, err := s.take(ctx)
		if judged {
			return nil
		}
		if ctx.Err() != nil {
			if err == nil {
				err = ctx.Err()
			}
			return err
		}
		if err != nil {
			feed.Pause(ctx, feed.RetryPause)
		}
	}
}
