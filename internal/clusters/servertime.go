package clusters

import (
	"net/http"
	"time"
)

// ServerClock estimates the clock of an API server from its answers. Times that several machines write into one object are
// compared by it. Before the first answer, it returns the local time.
type ServerClock struct{ skew skew }

// Of converts a local time to the server's time.
func (c *ServerClock) Of(local time.Time) time.Time { return local.Add(c.skew.by()) }

// Wrap returns a transport whose answers set the clock.
func (c *ServerClock) Wrap(next http.RoundTripper) http.RoundTripper { return dated{next, &c.skew} }
