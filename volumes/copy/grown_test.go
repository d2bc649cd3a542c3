package copy

import (
	"strings"
	"testing"

	"github.com/sliceshift/sliceshift/volumes"
)

// TestH12ClaimThatGrows: a claim that becomes larger while it is copied gets a new volume while its ordinal
// runs. If the ordinal is down, the copy waits for the user, and no other attempt begins.
func TestH12ClaimThatGrows(t *testing.T) {
	grows := func(needed, has int64) func(*volumes.Pair, *volumes.Copying) {
		return func(_ *volumes.Pair, c *volumes.Copying) { c.Asked.Needed, c.Incoming.Volume.Size = needed, has }
	}
	running := until(t, func(w *world) bool {
		return w.Runs == w.Giver && w.Record.Warm.Passes > 0 && w.Pair().Copy.Incoming.Bound()
	}).Pair()
	before := ahead(running, grows(10, 10))
	if before.Hold != nil || before.Attempt != nil && before.Attempt.Number != running.Copy.Attempt.Number {
		t.Errorf("it fits: %+v", before)
	}
	if got := ahead(running, grows(20, 10)); got.Hold != nil || got.Action == nil && got.Attempt == nil {
		t.Errorf("it does not: %+v", got)
	}
	if got := ahead(running, func(p *volumes.Pair, c *volumes.Copying) { grows(20, 10)(p, c); c.Asked.Size = 10 }).Hold; got == nil || got.Reason != volumes.ReasonCopySizeTooSmall {
		t.Errorf("a person has asked for a size: %+v", got)
	}
	stopped := untilIn(t, attached, introduced).Pair()
	seen := *stopped.Copy
	seen.Asked.Needed, seen.Incoming.Volume.Size = 20, 10
	stopped.Copy = &seen
	got := Copy{}.Ahead(stopped, volumes.Filled).Hold
	if got == nil || got.Reason != volumes.ReasonCopySizeTooSmall || !strings.Contains(got.Remedy, "patch pvc") {
		t.Errorf("it is down: %+v", got)
	}
}
