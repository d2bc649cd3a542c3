package transfer

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/cenkalti/backoff/v4"
)

// pauses grow while a peer cannot be reached.
type pauses struct{ next *backoff.ExponentialBackOff }

const (
	firstPause = 50 * time.Millisecond
	// lastPause is short: a sender that stands by dials until its receiver listens, and its ordinal is down then.
	lastPause = 250 * time.Millisecond
)

func (p *pauses) wait(ctx context.Context) {
	if p.next == nil {
		p.next = backoff.NewExponentialBackOff(backoff.WithInitialInterval(firstPause), backoff.WithMaxInterval(lastPause), backoff.WithMaxElapsedTime(0))
	}
	timer := time.NewTimer(p.next.NextBackOff())
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

func (p *pauses) reset() {
	if p.next != nil {
		p.next.Reset()
	}
}

func isEnd(err error) bool { return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) }
