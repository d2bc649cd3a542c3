// Package heap bounds how much memory a manager takes for what it has thrown away.
package heap

import (
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync"
)

// The heap may grow by growth percent of what is in use between two collections, and by spare bytes more: most of
// it are the pods of the cache, and there is little garbage beside it, but of a small heap that would be so little that
// most of the time went into collecting.
//
// room is what the process may take before the collector runs more often than that: what a hundred
// migrations throw away within one collection would take half as much again.
const (
	growth = 40
	spare  = 19 << 20
	room   = 112 << 20
)

// Bound makes the collector run that often, unless the environment variable GOGC says how often it shall. The limit
// of GOMEMLIMIT, which the shipped manifests set, is not exceeded. What it returns ends that.
func Bound() (end func()) {
	if _, set := os.LookupEnv("GOGC"); set {
		return func() {}
	}
	most := debug.SetMemoryLimit(-1)
	adapt := func(live uint64) (percent int) {
		percent = debug.SetGCPercent(percentFor(live))
		debug.SetMemoryLimit(limitFor(live, most))
		return percent
	}
	percent := adapt(live())
	b := &bound{}
	b.afterEach(func() { adapt(live()) })
	return func() {
		b.end(func() {
			debug.SetGCPercent(percent)
			debug.SetMemoryLimit(most)
		})
	}
}

// percentFor is by how many percent of what is in use the heap may grow. The runtime lets any heap grow to 4 MiB, and by that many
// percent of them.
func percentFor(live uint64) int { return growth + int(100*spare/max(live, 4<<20)) } //nolint:gosec // at most 515

// limitFor is the limit for what is in use after a collection, in bytes; it is never more than most. Of a heap that
// fills the room it lets as much be thrown away as is in use: near its limit the collector would run all the time.
func limitFor(live uint64, most int64) int64 {
	return int64(min(max(room, 2*live), uint64(most))) //nolint:gosec // most is a limit, and at most that
}

// live are the bytes that the last collection has found in use: what is reachable, with the stacks and variables that it looks
// through, of which the runtime takes its percents, too.
func live() uint64 {
	samples := []metrics.Sample{{Name: "/gc/heap/live:bytes"}, {Name: "/gc/scan/stack:bytes"}, {Name: "/gc/scan/globals:bytes"}}
	metrics.Read(samples)
	sum := uint64(0)
	for _, sample := range samples {
		sum += sample.Value.Uint64()
	}
	return sum
}

// bound is what is done after each collection, until it ends. A collection is answered by a goroutine of the runtime, beside
// which it may end: what is undone then must not be done again.
type bound struct {
	mu    sync.Mutex
	ended bool
}

// collected is an object that nothing uses: a collection has run when it goes.
type collected struct{ _ *byte }

// afterEach has something done after each collection.
func (b *bound) afterEach(do func()) {
	runtime.SetFinalizer(&collected{}, func(*collected) {
		b.mu.Lock()
		defer b.mu.Unlock()
		if !b.ended {
			do()
			b.afterEach(do)
		}
	})
}

// end undoes what was done, for good.
func (b *bound) end(undo func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.ended = true
	undo()
}
