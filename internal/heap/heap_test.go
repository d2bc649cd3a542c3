package heap

import (
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"
	"time"
)

// TestBound: a small heap may grow by more than itself before it is collected, what lets it is not
// in memory, and the environment has the last word.
func TestBound(t *testing.T) {
	t.Run("a small heap", func(t *testing.T) {
		before := resident(t)
		end := Bound()
		defer end()
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		if room := m.NextGC - m.HeapAlloc; room < unused*growth/200 || room > unused {
			t.Errorf("it may grow by %d bytes, from %d to %d", room, m.HeapAlloc, m.NextGC)
		}
		if grown := resident(t) - before; grown > unused/2 {
			t.Errorf("%d bytes more are in memory", grown)
		}
	})
	t.Run("a large heap", func(t *testing.T) {
		end := Bound()
		defer end()
		kept := make([]byte, room)
		deadline := time.Now().Add(10 * time.Second)
		for debug.SetMemoryLimit(-1) <= 2*room && time.Now().Before(deadline) {
			runtime.GC()
			runtime.Gosched()
		}
		if limit := debug.SetMemoryLimit(-1); limit <= 2*room {
			t.Errorf("%d bytes are in use, and the limit is %d", len(kept), limit)
		}
		runtime.KeepAlive(kept)
		debug.FreeOSMemory() // what is mapped counts against the limit of the next one
	})
	t.Run("GOGC", func(t *testing.T) {
		t.Setenv("GOGC", "75")
		before := debug.SetGCPercent(75)
		defer debug.SetGCPercent(before)
		end := Bound()
		defer end()
		if now := debug.SetGCPercent(75); now != 75 {
			t.Errorf("the heap may grow by %d %%", now)
		}
	})
}

func TestLimitFor(t *testing.T) {
	for live, want := range map[uint64]int64{0: room, room / 2: room, room/2 + 1: room + 2, 1 << 30: 2 << 30} {
		if got := limitFor(live); got != want {
			t.Errorf("%d bytes in use: %d, want %d", live, got, want)
		}
	}
}

// resident are the bytes of this process that are in memory.
func resident(t *testing.T) int {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(status)) {
		if rest, found := strings.CutPrefix(line, "VmRSS:"); found {
			kib := 0
			for _, digit := range strings.TrimSuffix(strings.TrimSpace(rest), " kB") {
				kib = kib*10 + int(digit-'0')
			}
			return kib << 10
		}
	}
	t.Fatal("no VmRSS")
	return 0
}
