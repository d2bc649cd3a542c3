package clusters

import (
	"net/http"
	"sync"
	"time"
)

// skew estimates the difference between the clocks of an API server and this process, from the Date of its answers. A Date
// has whole seconds, so each answer gives a range. The ranges of all answers intersect to a smaller one.
type skew struct {
	mu          sync.Mutex
	least, most time.Duration
	learned     bool
}

// learn adds the Date of an answer, with the local times before the request and after the answer.
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

// by returns the smallest difference in the range, positive if the server's clock is ahead. 0 means that no difference is
// known.
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

// dated is a transport that calls learn for each answer.
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

// Skew returns how far the clock of the cluster's API server is ahead of the local clock, as far as its answers show. 0
// means that no difference is known.
func (c *Connection) Skew() time.Duration {
	if c.core == nil || c.core.skew == nil {
		return 0
	}
	return c.core.skew.by()
}
