package transfer

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/sliceshift/sliceshift/mover/entry"
	"github.com/sliceshift/sliceshift/mover/tree"
)

// telling is the least that must have been read for a meaningful rate, unless that took a second.
const telling = 8 << 20

// Sample reads a source as a proof does, for at most most, and returns the rate in bytes a second. It returns 0
// if too little was read. Nothing is compared, and a concurrent change is no error.
func Sample(ctx context.Context, source tree.Source, most time.Duration) (rate int64, err error) {
	within, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	var read atomic.Int64
	begin := time.Now()
	_, err = source.List(within, tree.ListOptions{Digest: true, Progress: &read}, func(*entry.Entry) error { return nil })
	if err != nil && ctx.Err() == nil && errors.Is(err, context.DeadlineExceeded) {
		err = nil // there is more than was read in that time
	}
	return rateOf(read.Load(), time.Since(begin)), err
}

// rateOf returns the rate in bytes a second; 0 if too few bytes were read.
func rateOf(read int64, took time.Duration) int64 {
	if read < telling && took < time.Second || read == 0 {
		return 0
	}
	return max(1, int64(float64(read)/max(took.Seconds(), 1e-3)))
}
