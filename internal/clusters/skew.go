package clusters

import (
	"net/http"
	"sync"
	"time"
)

// skew learns by how much the clock of an API server differs from ours, from the Date of its answers. That has whole seconds: what each
// answer says is a range, and all of them together are a smaller one.
type skew struct {
	mu          sync.Mutex
	least, most time.Duration
	learned     bool
}

// learn takes an answer that was dated by the server, between two times of ours.
func (s *skew) learn(date, asked, answered time.Time) {
	least, most := date.Sub(answered), date.Add(time.Second).Sub(asked)
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.learned || least > s.most || most < s.least { // a clock was set
		s.least, s.most, s.learned = least, most, true
		return
	}
	s.least, s.most = max(s.least, least), min(s.most, most)
}

// by is how far the server's clock is ahead of ours, at least; 0: no difference is known.
func (s *skew) by() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.least > 0:
		return s.least
	case s.most < 0:
		return s.most
	default:
		return 0
	}
}

// dated learns from each answer.
type dated struct {
	next http.RoundTripper
	skew *skew
}

// WrappedRoundTripper implements net.RoundTripperWrapper of apimachinery.
func (d dated) WrappedRoundTripper() http.RoundTripper { return d.next }

// RoundTrip implements http.RoundTripper.
func (d dated) RoundTrip(req *http.Request) (*http.Response, error) {
	asked := time.Now()
	resp, err := d.next.RoundTrip(req)
	if err != nil {
		return resp, err
	}
	if date, invalid := http.ParseTime(resp.Header.Get("Date")); invalid == nil {
		d.skew.learn(date, asked, time.Now())
	}
	return resp, nil
}

// Skew is how far the clock of the cluster's API server is ahead of ours, as far as its answers have shown; 0: no difference is known.
func (c *Connection) Skew() time.Duration {
	if c.core == nil || c.core.skew == nil {
		return 0
	}
	return c.core.skew.by()
}
