package probe

import (
	"slices"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
)

// mostStretches is the number of handoffs that are counted separately: a request may end after the handoff in
// which it was sent.
const mostStretches = 8

// longestMessage is the maximum number of characters of a message in a status.
const longestMessage = 1024

// Tally counts the requests of a migration, in total and for each of the last handoffs. It is safe for
// concurrent use.
type Tally struct {
	mu        sync.Mutex
	all       Window
	stretches []*stretch
	// message is the error of the last failed request, which was sent at the time failed; or the reason why
	// none is sent.
	message string
	failed  time.Time
}

// stretch is one handoff.
type stretch struct {
	key    handoffKey
	open   bool
	window Window
	// before holds the counts of an earlier process for the same handoff.
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

// NewTally returns a tally that continues the counts of an earlier process in a status, if there are any.
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

// Moves records the current handoff: requests that are sent from now on count for it. nil means that there is
// none.
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

// Send counts a request that is sent, and returns a function that must be called with its result, in the order
// of the requests.
func (t *Tally) Send() (ended func(Sample)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.failed.IsZero() { // the message was why none was sent
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

// Refuse records why no request is sent.
func (t *Tally) Refuse(why string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.message, t.failed = atMost(longestMessage, why), time.Time{}
}

// Status returns the counts at a time; nil if no request was sent and there is no message.
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

// Of returns the counts of a handoff; nil if no request of the migration was sent, or if the handoff is too
// long ago.
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

// figures returns the counts of a handoff. Its percentiles are those of the process that has sent more of its
// requests.
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
