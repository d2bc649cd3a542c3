package testbed

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"testing"

	"github.com/sliceshift/sliceshift/e2e/auditor"
)

// Attempt is one try of a run. It is the testing.TB of everything that it calls, but its failure is not yet a failure
// of its test.
type Attempt struct {
	testing.TB
	ctx    context.Context //nolint:containedctx // a test has one context
	cancel context.CancelFunc
	// Tally counts the events of this attempt.
	Tally *Tally
	// auditors watch the moves of this attempt.
	auditors []Watcher

	mu       sync.Mutex
	failed   bool
	over     bool
	cleanups []func()
}

// Watcher is a running auditor.
type Watcher interface {
	Finish(ctx context.Context) auditor.Report
}

func start(t testing.TB) *Attempt {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	return &Attempt{TB: t, ctx: ctx, cancel: cancel, Tally: NewTally()}
}

// run calls body and returns when body returns, or when it fails with FailNow.
func (a *Attempt) run(body func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		body()
	}()
	<-done
}

// close ends the context and runs the cleanups, the last first, as a test does.
func (a *Attempt) close() {
	a.cancel()
	for {
		a.mu.Lock()
		if len(a.cleanups) == 0 {
			a.over = true
			a.mu.Unlock()
			return
		}
		last := a.cleanups[len(a.cleanups)-1]
		a.cleanups = a.cleanups[:len(a.cleanups)-1]
		a.mu.Unlock()
		a.run(last)
	}
}

// Watch registers an auditor, whose verdict is read at the end of the attempt.
func (a *Attempt) Watch(auditor Watcher) { a.auditors = append(a.auditors, auditor) }

// violated reports whether any auditor has found a violation, however the attempt ended.
func (a *Attempt) violated(ctx context.Context) bool {
	a.Helper()
	violated := false
	for _, watching := range a.auditors {
		if verdict := watching.Finish(ctx); len(verdict.Violations) > 0 {
			violated = true
			a.Errorf("an invariant was violated:\n%s", verdict)
		}
	}
	return violated
}

// Context implements testing.TB.
func (a *Attempt) Context() context.Context { return a.ctx }

// Cleanup implements testing.TB.
func (a *Attempt) Cleanup(f func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.cleanups = append(a.cleanups, f)
}

// Fail implements testing.TB.
func (a *Attempt) Fail() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.failed = true
}

// Failed implements testing.TB.
func (a *Attempt) Failed() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.failed
}

// FailNow implements testing.TB.
func (a *Attempt) FailNow() {
	a.Fail()
	runtime.Goexit()
}

// Log implements testing.TB. Lines after the end of the attempt are dropped, because the test may have ended too.
func (a *Attempt) Log(args ...any) {
	a.Helper()
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.over {
		a.TB.Log(args...)
	}
}

// Logf implements testing.TB.
func (a *Attempt) Logf(format string, args ...any) {
	a.Helper()
	a.Log(fmt.Sprintf(format, args...))
}

// Error implements testing.TB.
func (a *Attempt) Error(args ...any) {
	a.Helper()
	a.Log(args...)
	a.Fail()
}

// Errorf implements testing.TB.
func (a *Attempt) Errorf(format string, args ...any) {
	a.Helper()
	a.Logf(format, args...)
	a.Fail()
}

// Fatal implements testing.TB.
func (a *Attempt) Fatal(args ...any) {
	a.Helper()
	a.Log(args...)
	a.FailNow()
}

// Fatalf implements testing.TB.
func (a *Attempt) Fatalf(format string, args ...any) {
	a.Helper()
	a.Logf(format, args...)
	a.FailNow()
}
