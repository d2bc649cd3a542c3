// Package heap bounds how much memory a manager takes for what it has thrown away.
package heap

import (
	"math"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync/atomic"
)

// growth is by how much the heap may grow between two collections, in percent of what is in use:
// most of it are the pods of the cache, and there is little garbage beside it. Of a small heap
// that would be so little that most of the time went into collecting. unused counts as in use for
// this, and no page of it is ever touched: it lets any heap grow by growth percent of it more.
//
// room is what the process may take before the collector runs more often than that, unused included: what
// a hundred migrations throw away within one collection would take half as much again.
const (
	growth = 40
	unused = 48 << 20
	room   = 160 << 20
)

// Bound makes the collector run that often, unless the environment variables GOGC or GOMEMLIMIT say how often
// it shall. What it returns ends that.
func Bound() (end func()) {
	for _, name := range []string{"GOGC", "GOMEMLIMIT"} {
		if _, set := os.LookupEnv(name); set {
			return func() {}
		}
	}
	percent, ballast := debug.SetGCPercent(growth), make([]byte, unused)
	limit := debug.SetMemoryLimit(room)
	ended := &atomic.Bool{}
	afterEach(ended, func() { debug.SetMemoryLimit(limitFor(live())) })
	return func() {
		ended.Store(true)
		debug.SetGCPercent(percent)
		debug.SetMemoryLimit(limit)
		runtime.KeepAlive(ballast)
	}
}

// limitFor is the limit for what is in use after a collection, in bytes. Of a heap that fills the room it lets
// as much be thrown away as is in use: near its limit the collector would run all the time.
func limitFor(live uint64) int64 {
	return int64(min(max(room, 2*live), math.MaxInt64))
}

// live are the bytes that the last collection has found in use.
func live() uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}

// collected is an object that nothing uses: a collection has run when it goes.
type collected struct{ _ *byte }

// afterEach has something done after each collection, until it is ended.
func afterEach(ended *atomic.Bool, do func()) {
	runtime.SetFinalizer(&collected{}, func(*collected) {
		if !ended.Load() {
			do()
			afterEach(ended, do)
		}
	})
}
