package heap

import (
	"math"
	"runtime"
	"runtime/debug"
	"testing"
	"time"
)

// TestBound: a small heap may more than double before a collection, and the environment variable takes precedence.
func TestBound(t *testing.T) {
	t.Run("a small heap", func(t *testing.T) {
		end := Bound()
		defer end()
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		if more := m.NextGC - m.HeapAlloc; more < spare/2 || more > 2*spare {
			t.Errorf("it may grow by %d bytes, from %d to %d", more, m.HeapAlloc, m.NextGC)
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
		debug.FreeOSMemory() // mapped memory counts against the limit of the next case
	})
	t.Run("GOMEMLIMIT", func(t *testing.T) {
		before := debug.SetMemoryLimit(room / 2)
		defer debug.SetMemoryLimit(before)
		Bound()()
		if limit := debug.SetMemoryLimit(-1); limit != room/2 {
			t.Errorf("it was taken for the limit when it ended: %d", limit)
		}
		end := Bound()
		defer end()
		if limit := debug.SetMemoryLimit(-1); limit != room/2 {
			t.Errorf("the limit is %d", limit)
		}
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

// TestBoundEndsBesideACollection: a function that runs after a collection while the bound ends does not overwrite the
// restored settings.
func TestBoundEndsBesideACollection(t *testing.T) {
	began, goOn := make(chan struct{}), make(chan struct{})
	order := make(chan string, 2)
	b := &bound{}
	b.afterEach(func() {
		close(began)
		<-goOn
		order <- "adapted"
	})
	runtime.GC()
	<-began
	go b.end(func() { order <- "undone" })
	select {
	case <-order:
		close(goOn)
		t.Fatal("it was undone while the heap was being adapted")
	case <-time.After(20 * time.Millisecond):
	}
	close(goOn)
	if first, second := <-order, <-order; first != "adapted" || second != "undone" {
		t.Errorf("%s, and then %s", first, second)
	}
}

func TestLimitFor(t *testing.T) {
	const most = 400 << 20
	for live, want := range map[uint64]int64{0: room, room / 2: room, room/2 + 1: room + 2, most: most} {
		if got := limitFor(live, most); got != want {
			t.Errorf("%d bytes in use: %d, want %d", live, got, want)
		}
	}
	if got := limitFor(1<<30, math.MaxInt64); got != 2<<30 {
		t.Errorf("without a limit: %d", got)
	}
}

func TestPercentFor(t *testing.T) {
	for live, want := range map[uint64]int{0: growth + 475, spare / 2: growth + 200, spare: growth + 100, 10 * spare: growth + 10} {
		if got := percentFor(live); got != want {
			t.Errorf("%d bytes in use: %d, want %d", live, got, want)
		}
	}
}
