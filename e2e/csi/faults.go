package csi

import (
	"slices"
	"sync"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// faults are what the next calls meet.
type faults struct {
	mu   sync.Mutex
	next []fault
}

// fault is what calls of one method meet.
type fault struct {
	method string
	times  int
	// fail is the answer, and nothing is done.
	fail error
	// broken: it is met by every call until it is mended.
	broken bool
	// lose: what is asked is done, and nobody hears of it.
	lose bool
	// before and after are closed when it may be done, and when it may be answered.
	before, after chan struct{}
}

func (f *faults) plan(next fault) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.next = append(f.next, next)
}

// take is the fault that a call meets now.
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

// Break has all calls of a method fail with a code, and say why, until it is mended. Nothing is done.
func (d *Driver) Break(method string, code codes.Code, why string) (mend func()) {
	d.faults.plan(fault{method: method, times: 1, broken: true, fail: status.Error(code, why)})
	return func() {
		d.faults.mu.Lock()
		defer d.faults.mu.Unlock()
		d.faults.next = slices.DeleteFunc(d.faults.next, func(each fault) bool { return each.broken && each.method == method })
	}
}

// Fail has the next calls of a method fail with a code. Nothing is done.
func (d *Driver) Fail(method string, times int, code codes.Code) {
	d.faults.plan(fault{method: method, times: times, fail: status.Errorf(code, "%s fails because a test wants it so", method)})
}

// Lose has the next calls of a method do what they are asked, and fail to say so.
func (d *Driver) Lose(method string, times int) {
	d.faults.plan(fault{method: method, times: times, lose: true})
}

// Hold has the next calls of a method do nothing until they are released. One whose caller has gone by then is not
// done at all.
func (d *Driver) Hold(method string, times int) (release func()) {
	gate := make(chan struct{})
	d.faults.plan(fault{method: method, times: times, before: gate})
	return sync.OnceFunc(func() { close(gate) })
}

// Late has the next calls of a method do what they are asked, and answer when they are released.
func (d *Driver) Late(method string, times int) (release func()) {
	gate := make(chan struct{})
	d.faults.plan(fault{method: method, times: times, after: gate})
	return sync.OnceFunc(func() { close(gate) })
}
