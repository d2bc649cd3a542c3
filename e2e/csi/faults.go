package csi

import (
	"context"
	"slices"
	"sync"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// faults are the faults of the next calls.
type faults struct {
	mu   sync.Mutex
	next []fault
	// delays are the times that calls of a method take at least.
	delays map[string]time.Duration
}

// fault is a fault of the calls of one method.
type fault struct {
	method string
	times  int
	// fail is the answer; the call is not executed.
	fail error
	// broken is true if every call has the fault until it is repaired.
	broken bool
	// lose is true if the call is executed and its answer is lost.
	lose bool
	// before and after are closed when the call may be executed, and when it may be answered.
	before, after chan struct{}
}

func (f *faults) plan(next fault) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.next = append(f.next, next)
}

// take returns the fault of the current call.
func (f *faults) take(method string) (met fault, is bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	i := slices.IndexFunc(f.next, func(each fault) bool { return each.method == method && each.times > 0 })
	if i < 0 {
		return fault{}, false
	}
	if !f.next[i].broken {
		f.next[i].times--
	}
	return f.next[i], true
}

// delayed waits for as long as calls of a method take at least, or until the caller has given up.
func (f *faults) delayed(ctx context.Context, method string) error {
	f.mu.Lock()
	span := f.delays[method]
	f.mu.Unlock()
	if span == 0 {
		return nil
	}
	gate := make(chan struct{})
	timer := time.AfterFunc(span, func() { close(gate) })
	defer timer.Stop()
	return await(ctx, gate)
}

// Delay makes all calls of a method take at least a time, as a cloud takes to attach a disk; 0 ends that.
func (d *Driver) Delay(method string, span time.Duration) {
	d.faults.mu.Lock()
	defer d.faults.mu.Unlock()
	if d.faults.delays == nil {
		d.faults.delays = map[string]time.Duration{}
	}
	d.faults.delays[method] = span
}

// Break makes all calls of a method fail with a code and a message, until mend is called. They are not executed.
func (d *Driver) Break(method string, code codes.Code, why string) (mend func()) {
	d.faults.plan(fault{method: method, times: 1, broken: true, fail: status.Error(code, why)})
	return func() {
		d.faults.mu.Lock()
		defer d.faults.mu.Unlock()
		d.faults.next = slices.DeleteFunc(d.faults.next, func(each fault) bool { return each.broken && each.method == method })
	}
}

// Fail makes the next calls of a method fail with a code. They are not executed.
func (d *Driver) Fail(method string, times int, code codes.Code) {
	d.faults.plan(fault{method: method, times: times, fail: status.Errorf(code, "%s fails because a test wants it so", method)})
}

// Lose executes the next calls of a method and returns errors for them.
func (d *Driver) Lose(method string, times int) {
	d.faults.plan(fault{method: method, times: times, lose: true})
}

// Hold delays the execution of the next calls of a method until release is called. A call whose caller has given up by
// then is not executed.
func (d *Driver) Hold(method string, times int) (release func()) {
	gate := make(chan struct{})
	d.faults.plan(fault{method: method, times: times, before: gate})
	return sync.OnceFunc(func() { close(gate) })
}

// Late executes the next calls of a method, and delays their answers until release is called.
func (d *Driver) Late(method string, times int) (release func()) {
	gate := make(chan struct{})
	d.faults.plan(fault{method: method, times: times, after: gate})
	return sync.OnceFunc(func() { close(gate) })
}
