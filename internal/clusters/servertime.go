package clusters

import (
	"net/http"
	"time"
)

// ServerClock tells the time by the clock of an API server, which it learns from the answers: times that several machines write into one
// object are compared by it. Before the first answer it is the local time.
type ServerClock struct{ skew skew }

// Of is the server's time at a local time.
func (c *ServerClock) Of(local time.Time) time.Time { return local.Add(c.skew.by()) }

// Wrap is a way to the server whose answers set the clock.
func (c *ServerClock) Wrap(next http.RoundTripper) http.RoundTripper { return dated{next, &c.skew} }
