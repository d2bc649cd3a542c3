package clusters

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
)

// TestH12Skew: from dates of whole seconds, skew returns a lower bound of the difference, and 0 if there may be none.
func TestH12Skew(t *testing.T) {
	now := time.Date(2026, 1, 1, 12, 0, 0, 500e6, time.UTC)
	for name, tc := range map[string]struct {
		ahead time.Duration
		want  func(time.Duration) bool
	}{
		"none":                {0, func(d time.Duration) bool { return d == 0 }},
		"less than a second":  {300 * time.Millisecond, func(d time.Duration) bool { return d >= 0 && d <= 300*time.Millisecond }},
		"five minutes ahead":  {5 * time.Minute, func(d time.Duration) bool { return d > 299*time.Second && d <= 5*time.Minute }},
		"five minutes behind": {-5 * time.Minute, func(d time.Duration) bool { return d < -299*time.Second && d >= -5*time.Minute-time.Second }},
	} {
		s := &skew{}
		for i := range 10 {
			asked := now.Add(time.Duration(i) * 1700 * time.Millisecond)
			answered := asked.Add(20 * time.Millisecond)
			s.learn(asked.Add(tc.ahead).Truncate(time.Second), asked, answered)
		}
		if got := s.by(); !tc.want(got) {
			t.Errorf("%s: %s", name, got)
		}
	}
	s := &skew{}
	s.learn(now.Add(time.Hour), now, now)
	s.learn(now.Truncate(time.Second), now, now)
	if s.by() != 0 {
		t.Errorf("a clock that was set: %s", s.by())
	}
}

// TestDated: each answer with a date updates the skew, and an answer without a date does not.
func TestDated(t *testing.T) {
	date := ""
	s := &skew{}
	d := dated{roundTrips(func(*http.Request) (*http.Response, error) {
		return &http.Response{Header: http.Header{"Date": {date}}, Body: io.NopCloser(strings.NewReader(""))}, nil
	}), s}
	ask := func() {
		resp, err := d.RoundTrip(&http.Request{})
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
	}
	if ask(); s.by() != 0 {
		t.Error("no date has told something")
	}
	date = time.Now().Add(time.Hour).UTC().Format(http.TimeFormat)
	if ask(); s.by() < 59*time.Minute {
		t.Errorf("got %s", s.by())
	}
}

type roundTrips func(*http.Request) (*http.Response, error)

func (r roundTrips) RoundTrip(req *http.Request) (*http.Response, error) { return r(req) }
