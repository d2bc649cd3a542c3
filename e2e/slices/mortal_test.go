package slices

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"
	"pgregory.net/rapid"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sliceshift/sliceshift/e2e/fixture"
)

// mortalKey is a label of sets with their own controller, which a test ends and restarts. The controller of all other
// sets ignores them.
const mortalKey = "e2e.sliceshift.io/mortal"

// life is how long a controller lives: for a number of writes or, if writes is 0, for a time.
type life struct {
	writes int64
	// lands is true when the last write is carried out and only its answer is lost.
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

// someLives draws the lives of the controllers of one set. Most end at a write, because the remaining state depends on
// it.
var someLives = rapid.SliceOfN(rapid.Custom(func(r *rapid.T) life {
	if rapid.IntRange(0, 3).Draw(r, "by time") == 0 {
		return life{span: time.Duration(rapid.IntRange(1, 400).Draw(r, "ms")) * time.Millisecond}
	}
	return life{writes: rapid.Int64Range(1, 7).Draw(r, "writes"), lands: rapid.Bool().Draw(r, "lands")}
}), 6, 10)

// mortal is the connection of a controller to the API server. It ends with the controller's life, like that of a
// killed process: nothing more is sent, and no answer arrives.
type mortal struct {
	next http.RoundTripper
	// left counts the remaining writes; nil if they are not counted.
	left  *atomic.Int64
	lands bool
	die   context.CancelFunc
	// underway are the writes that were sent. They are carried out even if their controller has died.
	underway *sync.WaitGroup
}

var errDead = errors.New("the controller is dead")

// RoundTrip implements http.RoundTripper.
func (m mortal) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method == http.MethodGet || strings.Contains(r.URL.Path, "/events") { // events are sent outside of the main loop
		if m.left != nil && m.left.Load() <= 0 {
			return nil, errDead
		}
		return m.next.RoundTrip(r)
	}
	if m.left == nil {
		return m.send(r)
	}
	left := m.left.Add(-1)
	if left > 0 {
		return m.send(r)
	}
	defer m.die()
	if left == 0 && m.lands {
		response, err := m.send(r)
		if err != nil {
			return nil, err
		}
		_ = response.Body.Close()
	}
	return nil, errDead
}

// send sends a write, which is carried out even if its controller dies before the answer.
func (m mortal) send(r *http.Request) (*http.Response, error) {
	type answer struct {
		response *http.Response
		err      error
	}
	answers := make(chan answer, 1)
	m.underway.Go(func() {
		response, err := m.next.RoundTrip(r.WithContext(context.WithoutCancel(r.Context()))) //nolint:bodyclose // whoever gets it closes it
		answers <- answer{response, err}
	})
	select {
	case a := <-answers:
		return a.response, a.err
	case <-r.Context().Done():
		go func() {
			if a := <-answers; a.err == nil {
				_ = a.response.Body.Close()
			}
		}()
		return nil, r.Context().Err()
	}
}

// live runs a controller of one namespace for a life. The channel is closed when the controller has ended and its
// writes are carried out. This matches leader election: the next leader waits for the end of the lease, which lasts
// longer than a request. leave ends the controller early.
func live(ctx context.Context, namespace string, l life) (ended <-chan struct{}, leave context.CancelFunc, err error) {
	var lifetime context.Context
	at := rest.CopyConfig(one)
	if l.span > 0 {
		lifetime, leave = context.WithTimeout(ctx, l.span)
	} else {
		lifetime, leave = context.WithCancel(ctx)
	}
	underway := &sync.WaitGroup{}
	way := mortal{lands: l.lands, die: leave, underway: underway}
	if l.writes > 0 {
		way.left = &atomic.Int64{}
		way.left.Store(l.writes)
	}
	at.Wrap(func(next http.RoundTripper) http.RoundTripper {
		way.next = next
		return way
	})
	stopped, err := fixture.StartSlices(lifetime, at, cache.Options{DefaultNamespaces: map[string]cache.Config{namespace: {}}})
	if err != nil && lifetime.Err() != nil { // its life was too short to start
		err = nil
	}
	over := make(chan struct{})
	go func() {
		defer close(over)
		if stopped != nil {
			<-stopped
		}
		underway.Wait()
	}()
	return over, leave, err
}

// TestOneControllerForEach: a set with its own controller is not handled by the shared one.
func TestOneControllerForEach(t *testing.T) {
	mortals := slice(1)
	mortals.Labels = map[string]string{mortalKey: "yes"}
	p := newPlay(t, mortals)
	p.must(api.Create(p.ctx, mortals))
	others := slice(1)
	others.Namespace, others.Name = mortals.Namespace, "others"
	p.must(api.Create(p.ctx, others))
	p.eventually("the pod of the other set is made", func() bool {
		return api.Get(p.ctx, client.ObjectKey{Namespace: others.Namespace, Name: "others-0"}, &corev1.Pod{}) == nil
	})
	pod := &corev1.Pod{}
	if err := api.Get(p.ctx, client.ObjectKey{Namespace: mortals.Namespace, Name: "web-0"}, pod); !apierrors.IsNotFound(err) {
		t.Errorf("somebody has made %s: %v", pod.Name, err)
	}
}
