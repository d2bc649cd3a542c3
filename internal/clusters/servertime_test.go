package clusters

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"
)

// TestV3ServerClock: the time is that of the header Date, and a difference within its precision counts as none.
func TestV3ServerClock(t *testing.T) {
	for _, ahead := range []time.Duration{0, time.Hour, -time.Hour} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Date", time.Now().Add(ahead).UTC().Format(http.TimeFormat))
		}))
		var clock ServerClock
		local := time.Now()
		if got := clock.Of(local); !got.Equal(local) {
			t.Errorf("before the first answer it is %s, not %s", got, local)
		}
		resp, err := (&http.Client{Transport: clock.Wrap(http.DefaultTransport)}).Get(server.URL) //nolint:noctx // of a test
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		server.Close()
		got := clock.Of(local).Sub(local)
		if ahead == 0 && got != 0 || (got-ahead).Abs() > 2*time.Second {
			t.Errorf("%s ahead it is %s", ahead, got)
		}
	}
}
