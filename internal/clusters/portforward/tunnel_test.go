package portforward_test

import (
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/streaming/pkg/httpstream"
	"k8s.io/streaming/pkg/httpstream/spdy"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sliceshift/sliceshift/internal/clusters/clustertest"
)

var web2 = client.ObjectKey{Namespace: "shop", Name: "web-2"}

// sends returns an API server that sends the given data through a forwarded port.
func sends(data []byte) *clustertest.Pods {
	return &clustertest.Pods{Before: func(w http.ResponseWriter, r *http.Request) bool {
		if !strings.HasSuffix(r.URL.Path, "/portforward") {
			return false
		}
		if _, err := httpstream.Handshake(r, w, []string{"portforward.k8s.io"}); err != nil {
			return true
		}
		opened := make(chan httpstream.Stream, 2)
		connection := spdy.NewResponseUpgrader().UpgradeResponse(w, r, func(stream httpstream.Stream, _ <-chan struct{}) error {
			opened <- stream
			return nil
		})
		for range 2 {
			if stream := <-opened; stream.Headers().Get(corev1.StreamType) == corev1.StreamTypeData {
				go func() { _, _ = stream.Write(data) }()
			}
		}
		<-connection.CloseChan()
		return true
	}}
}

// TestHostileFrames: a cluster that sends more at once than any kubelet does not fill the memory, and the reader gets the
// reason of the end.
func TestHostileFrames(t *testing.T) {
	t.Parallel()
	conn, err := sends(make([]byte, 1<<24-1)).Connect(t).RelayPod(t.Context(), web2, 8080)
	if err == nil {
		defer conn.Close()
		_, err = io.Copy(io.Discard, conn)
	}
	if err == nil || !strings.Contains(err.Error(), "16777215 bytes is longer") {
		t.Errorf("got %v", err)
	}
}

// TestCloseWhileWriting: a connection whose other side reads nothing is closed soon, and a write in progress ends.
func TestCloseWhileWriting(t *testing.T) {
	t.Parallel()
	port, err := net.Listen("tcp", "127.0.0.1:0") // it accepts no connection
	if err != nil {
		t.Fatal(err)
	}
	defer port.Close()
	east := (&clustertest.Pods{Ports: map[string]string{"shop/web-2:8080": port.Addr().String()}}).Connect(t)
	conn, err := east.RelayPod(t.Context(), web2, 8080)
	if err != nil {
		t.Fatal(err)
	}
	var written atomic.Int64
	ended := make(chan struct{}, 2)
	go func() {
		for {
			n, err := conn.Write(make([]byte, 32<<10))
			if written.Add(int64(n)); err != nil {
				ended <- struct{}{}
				return
			}
		}
	}()
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for before := int64(-1); written.Load() != before; <-tick.C {
		before = written.Load()
	}
	go func() {
		_ = conn.Close() // it cannot notify the other side
		ended <- struct{}{}
	}()
	for range 2 {
		select {
		case <-ended:
		case <-time.After(10 * time.Second):
			t.Fatal("it is still written to, or being closed, after 10 s")
		}
	}
}
