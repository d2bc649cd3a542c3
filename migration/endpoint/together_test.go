package endpoint

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// TestTogether: all reads are performed, and all their errors are returned.
func TestTogether(t *testing.T) {
	one, two := errors.New("one"), errors.New("two")
	met := make(chan struct{})
	err := Together(
		func() error { <-met; return one },
		func() error { return nil },
		func() error { close(met); return two },
	)
	if !errors.Is(err, one) || !errors.Is(err, two) {
		t.Errorf("got %v", err)
	}
	if err := Together(); err != nil {
		t.Errorf("no reads: %v", err)
	}
}

// TestWithin: no more reads than allowed run at the same time.
func TestWithin(t *testing.T) {
	var now atomic.Int32
	var mu sync.Mutex
	var highest int32
	read := func() error {
		n := now.Add(1)
		defer now.Add(-1)
		mu.Lock()
		defer mu.Unlock()
		highest = max(highest, n)
		return nil
	}
	var reads []func() error
	for range 50 {
		reads = append(reads, read)
	}
	if err := Within(3, reads...); err != nil || highest > 3 {
		t.Errorf("%d at once, %v", highest, err)
	}
}

// TestTogetherPanic: a panic in a read is raised in the caller, which can recover it.
func TestTogetherPanic(t *testing.T) {
	done := false
	defer func() {
		if cause := fmt.Sprint(recover()); !strings.Contains(cause, "no volume") || !strings.Contains(cause, "TestTogetherPanic") || !done {
			t.Errorf("got %s; the other read is done: %t", cause, done)
		}
	}()
	err := Together(func() error { panic("no volume") }, func() error { done = true; return nil })
	t.Errorf("it goes on: %v", err)
}
