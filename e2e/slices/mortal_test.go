package slices

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"k8s.io/client-go/rest"
	"pgregory.net/rapid"
	"sigs.k8s.io/controller-runtime/pkg/cache"

	"github.com/sliceshift/sliceshift/e2e/fixture"
)

// mortalKey is a label of sets that have a controller of their own, which a test ends and
// starts again. The one for all tests does not see them.
const mortalKey = "e2e.sliceshift.io/mortal"

// life is how long a controller lives: for so many writes or, without any, for a time.
type life struct {
	writes int64
	// lands is true when the last write is carried out, and only its answer is lost.
	lands bool
	span  time.Duration
}

func (l life) String() string {
	switch {
	case l.writes == 0:
		return l.span.String()
	case l.lands:
		return fmt.Sprintf("after write %d", l.writes)
	default:
		return fmt.Sprintf("before write %d", l.writes)
	}
}

// someLives draws the lives of the controllers of one set. Most end at a write, for what
// a controller leaves behind depends on that.
var someLives = rapid.SliceOfN(rapid.Custom(func(r *rapid.T) life {
	if rapid.IntRange(0, 3).Draw(r, "by time") == 0 {
		return life{span: time.Duration(rapid.IntRange(1, 400).Draw(r, "ms")) * time.Millisecond}
	}
	return life{writes: rapid.Int64Range(1, 7).Draw(r, "writes"), lands: rapid.Bool().Draw(r, "lands")}
}), 6, 10)

// mortal is the way of a controller to the API server. It ends with the controller's life,
// as that of a process that is killed: nothing is sent any more, and no answer arrives.
type mortal struct {
	next  http.RoundTripper
	left  *atomic.Int64
	lands bool
	die   context.CancelFunc
}

var errDead = errors.New("the controller is dead")

// RoundTrip implements http.RoundTripper.
func (m mortal) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method == http.MethodGet || strings.Contains(r.URL.Path, "/events") { // events are told beside the work
		if m.left.Load() <= 0 {
			return nil, errDead
		}
		return m.next.RoundTrip(r)
	}
	left := m.left.Add(-1)
	if left > 0 {
		return m.next.RoundTrip(r)
	}
	defer m.die()
	if left == 0 && m.lands {
		response, err := m.next.RoundTrip(r)
		if err != nil {
			return nil, err
		}
		_ = response.Body.Close()
	}
	return nil, errDead
}

// live runs a controller of one namespace for a life. The channel is closed when it has
// ended; leave ends it before its time.
func live(ctx context.Context, namespace string, l life) (ended <-chan struct{}, leave context.CancelFunc, err error) {
	var lifetime context.Context
	at := rest.CopyConfig(one)
	if l.span > 0 {
		lifetime, leave = context.WithTimeout(ctx, l.span)
	} else {
		lifetime, leave = context.WithCancel(ctx)
	}
	if l.writes > 0 {
		left := &atomic.Int64{}
		left.Store(l.writes)
		at.Wrap(func(next http.RoundTripper) http.RoundTripper {
			return mortal{next: next, left: left, lands: l.lands, die: leave}
		})
	}
	ended, err = fixture.StartSlices(lifetime, at, cache.Options{DefaultNamespaces: map[string]cache.Config{namespace: {}}})
	if err != nil && lifetime.Err() != nil { // its life was too short to begin
		if err = nil; ended == nil {
			never := make(chan struct{})
			close(never)
			ended = never
		}
	}
	return ended, leave, err
}
