package endpoint

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
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

// TestWithin: no more reads than allowed are under way, and all are done in the end.
func TestWithin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var began atomic.Int32
		release, done := make(chan struct{}), make(chan error, 1)
		reads := slices.Repeat([]func() error{func() error {
			began.Add(1)
			<-release
			return nil
		}}, 50)
		go func() { done <- Within(3, reads...) }()
		synctest.Wait()
		if n := began.Load(); n != 3 {
			t.Errorf("%d reads at once, want 3", n)
		}
		close(release)
		if err := <-done; err != nil || began.Load() != 50 {
			t.Errorf("%d reads, %v", began.Load(), err)
		}
	})
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
