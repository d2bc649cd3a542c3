package probe

import (
	"slices"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
)

// mostStretches is how many handoffs are told apart: a request may end after the handoff in which it was sent.
const mostStretches = 8

// longestMessage is how many characters a status takes of a message.
const longestMessage = 1024

// Tally counts the requests of a migration, in all and for each of the last handoffs. It is safe for concurrent use.
type Tally struct {
	mu        sync.Mutex
	all       Window
	stretches []*stretch
	// message is why a request failed last, at the time failed; or why none is sent.
	message string
	failed  time.Time
}

// stretch is one handoff.
type stretch struct {
	key    handoffKey
	open   bool
	window Window
	// before are the figures of an earlier process, of the same handoff.
	before *api.ClientRequests
}

// handoffKey identifies a handoff. Times are stored in microseconds.
type handoffKey struct {
	ordinal int32
	start   int64
}

func keyOf(ordinal int32, start metav1.MicroTime) handoffKey {
	return handoffKey{ordinal, start.UnixMicro()}
}

// NewTally continues what an earlier process has written of a migration, if anything.
func NewTally(status api.MigrationStatus) *Tally {
	t := &Tally{}
	before := status.Probe
	if before == nil {
		return t
	}
	t.all, t.message, t.failed = recorded(before.ClientRequests, before.Latencies), before.Message, before.FailureTime.Time
	if h := status.Handoff; h != nil && before.Moving != nil {
		t.stretches = []*stretch{{key: keyOf(h.Ordinal, h.StartTime), open: true, before: before.Moving}}
	}
	return t
}

// Moves notes which ordinal is on its way: requests that are sent from now on count for it; nil: none is.
func (t *Tally) Moves(handoff *api.Handoff) {
	t.mu.Lock()
	defer t.mu.Unlock()
	last := t.last()
	if handoff == nil {
		if last != nil {
			last.open = false
		}
		return
	}
	key := keyOf(handoff.Ordinal, handoff.StartTime)
	if last != nil && last.key == key {
		return
	}
	if last != nil {
		last.open = false
	}
	t.stretches = append(t.stretches, &stretch{key: key, open: true})
	t.stretches = slices.Clone(t.stretches[max(0, len(t.stretches)-mostStretches):])
}

func (t *Tally) last() *stretch {
	if len(t.stretches) == 0 {
		return nil
	}
	return t.stretches[len(t.stretches)-1]
}

// Send counts a request that is sent, and returns what must be called with what became of it, in the order of the requests.
func (t *Tally) Send() (ended func(Sample)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.failed.IsZero() { // why none was sent
		t.message = ""
	}
	windows := []*Window{&t.all}
	if last := t.last(); last != nil && last.open {
		windows = append(windows, &last.window)
	}
	for _, w := range windows {
		w.Send()
	}
	return func(s Sample) {
		t.mu.Lock()
		defer t.mu.Unlock()
		for _, w := range windows {
			w.Add(s)
		}
		if s.Failure != "" {
			t.message, t.failed = atMost(longestMessage, s.Failure), s.Start
		}
	}
}

// Refuse notes why no request is sent.
func (t *Tally) Refuse(why string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.message, t.failed = atMost(longestMessage, why), time.Time{}
}

// Status is what the requests have come to at a time; nil: none was sent, and nothing is to be said.
func (t *Tally) Status(now time.Time) *api.ProbeStatus {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.all.sent == 0 && t.message == "" {
		return nil
	}
	s := &api.ProbeStatus{ClientRequests: t.all.Figures(), Latencies: t.all.latencies(), Message: t.message, Time: metav1.NewMicroTime(now)}
	if !t.failed.IsZero() {
		s.FailureTime = metav1.NewMicroTime(t.failed)
	}
	if last := t.last(); last != nil && last.open {
		s.Moving = last.figures()
	}
	return s
}

// Of is what the requests of a handoff have come to; nil: no request of the migration was sent, or it is too long ago.
func (t *Tally) Of(ordinal int32, start metav1.MicroTime) *api.ClientRequests {
	t.mu.Lock()
	defer t.mu.Unlock()
	key := keyOf(ordinal, start)
	for _, each := range slices.Backward(t.stretches) {
		if each.key == key && t.all.sent > 0 {
			return each.figures()
		}
	}
	return nil
}

// figures are those of a handoff. Percentiles are of the process that has sent more of its requests.
func (s *stretch) figures() *api.ClientRequests {
	f := s.window.Figures()
	if b := s.before; b != nil {
		if b.Requests > f.Requests {
			f.P50Milliseconds, f.P99Milliseconds = b.P50Milliseconds, b.P99Milliseconds
		}
		f.Requests, f.Failed = f.Requests+b.Requests, f.Failed+b.Failed
		f.LongestMilliseconds, f.OutageMilliseconds = max(f.LongestMilliseconds, b.LongestMilliseconds), max(f.OutageMilliseconds, b.OutageMilliseconds)
	}
	return &f
}
