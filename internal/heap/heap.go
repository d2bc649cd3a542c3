// Package heap bounds how much memory a manager takes for what it has thrown away.
package heap

import (
	"os"
	"runtime"
	"runtime/debug"
)

// growth is by how much the heap may grow between two collections, in percent of what is in use:
// most of it are the pods of the cache, and there is little garbage beside it. Of a small heap
// that would be so little that most of the time went into collecting. unused counts as in use for
// this, and no page of it is ever touched: it lets any heap grow by growth percent of it more.
const (
	growth = 32
	unused = 48 << 20
)

// Bound makes the collector run that often, unless the environment variable GOGC says how often it
// shall. What it returns ends that.
func Bound() (end func()) {
	if _, set := os.LookupEnv("GOGC"); set {
		return func() {}
	}
	before, room := debug.SetGCPercent(growth), make([]byte, unused)
	return func() {
		debug.SetGCPercent(before)
		runtime.KeepAlive(room)
	}
}
