// Package heap limits the memory that a manager uses for garbage.
package heap

import (
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync"
)

// Between two collections, the heap may grow by growth percent of the live heap, plus spare bytes. Most of the heap are
// cached pods, and there is little garbage. Without spare, a small heap would be collected too often.
//
// room is the total size above which the collector runs more often. Without it, the garbage of a hundred migrations between
// two collections would increase the memory by half.
const (
	growth = 40
	spare  = 19 << 20
	room   = 112 << 20
)

// Bound configures the collector accordingly, unless the environment variable GOGC is set. It never exceeds the limit of
// GOMEMLIMIT, which the shipped manifests set. The returned function restores the former settings.
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

// percentFor returns the percentage by which the live heap may grow. The runtime applies it to at least 4 MiB.
func percentFor(live uint64) int { return growth + int(100*spare/max(live, 4<<20)) } //nolint:gosec // at most 515

// limitFor returns the memory limit for a live heap, in bytes, and at most most. A live heap that fills the room may double.
// Near its limit, the collector would run all the time.
func limitFor(live uint64, most int64) int64 {
	return int64(min(max(room, 2*live), uint64(most))) //nolint:gosec // most is a limit, and at most that
}

// live returns the bytes in use at the last collection: reachable objects, and the stacks and globals that the collector
// scans. The runtime applies the percentage to all of these.
func live() uint64 {
	samples := []metrics.Sample{{Name: "/gc/heap/live:bytes"}, {Name: "/gc/scan/stack:bytes"}, {Name: "/gc/scan/globals:bytes"}}
	metrics.Read(samples)
	sum := uint64(0)
	for _, sample := range samples {
		sum += sample.Value.Uint64()
	}
	return sum
}

// bound runs a function after each collection, until it ends. A goroutine of the runtime runs the function, possibly
// concurrently with end. After end, the function must not run again.
type bound struct {
	mu    sync.Mutex
	ended bool
}

// collected is an unreferenced object. Its finalizer runs after a collection.
type collected struct{ _ *byte }

// afterEach runs do after each collection.
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

// end stops the function and runs undo.
func (b *bound) end(undo func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.ended = true
	undo()
}
