package drain

import (
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/sliceshift/sliceshift/cmd/migrate/commandtest"
)

// answering answers a request when the test allows it.
type answering struct{ let chan struct{} }

func (t answering) RoundTrip(*http.Request) (*http.Response, error) {
	<-t.let
	return &http.Response{Body: io.NopCloser(strings.NewReader("done"))}, nil
}

func send(t *testing.T, through http.RoundTripper, method string) (*http.Response, error) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, "http://cluster.invalid", nil)
	if err != nil {
		t.Fatal(err)
	}
	return through.RoundTrip(request)
}

func TestWrites(t *testing.T) {
	b, let := &Writes{}, make(chan struct{}, 3)
	through := transport{b, answering{let}}
	let <- struct{}{}
	write, err := send(t, through, http.MethodPatch)
	if err != nil {
		t.Fatal(err)
	}

	drained := make(chan struct{})
	go func() {
		b.Wait()
		close(drained)
	}()
	commandtest.Await(t, func() bool { // the unread response delays only the end of the drain
		b.mu.Lock()
		defer b.mu.Unlock()
		return b.draining
	}, func() string { return "the writes are not drained" })
	if response, err := send(t, through, http.MethodPost); !errors.Is(err, ErrStopping) {
		t.Errorf("a write began: %v, %v", response, err)
	}
	let <- struct{}{}
	if read, err := send(t, through, http.MethodGet); err != nil {
		t.Errorf("a read was refused: %v", err)
	} else if err := read.Body.Close(); err != nil {
		t.Error(err)
	}
	select {
	case <-drained:
		t.Error("the write on its way was not waited for")
	case <-time.After(20 * time.Millisecond):
	}
	for range 2 { // a second Close must not count
		if err := write.Body.Close(); err != nil {
			t.Error(err)
		}
	}
	<-drained
}

// connecting returns an upgraded connection.
type connecting struct{ io.ReadWriteCloser }

func (c connecting) RoundTrip(*http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusSwitchingProtocols, Body: c.ReadWriteCloser}, nil
}

// TestConnections: the body of an upgraded connection is returned unchanged, and does not delay Wait.
func TestConnections(t *testing.T) {
	b := &Writes{}
	here, there := net.Pipe()
	defer there.Close()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://cluster.invalid", nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Upgrade", "SPDY/3.1")
	response, err := transport{b, connecting{here}}.RoundTrip(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if _, both := response.Body.(io.ReadWriteCloser); !both {
		t.Errorf("got %T", response.Body)
	}
	b.Wait()
}
