package relay

import (
	"context"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sliceshift/sliceshift/internal/clusters/clustertest"
)

// through returns a function that connects to a port through an API server.
func through(t *testing.T, p port) Dial {
	t.Helper()
	of := (&clustertest.Pods{Ports: map[string]string{"shop/mover:1": p.Addr().String()}}).Connect(t)
	return func(ctx context.Context) (Conn, error) {
		return of.RelayPod(ctx, client.ObjectKey{Namespace: "shop", Name: "mover"}, 1)
	}
}

// flood writes until an error.
type flood struct {
	written atomic.Int64
	ended   chan struct{}
}

func (f *flood) into(conn net.Conn) {
	defer close(f.ended)
	for block := make([]byte, 64<<10); ; {
		n, err := conn.Write(block)
		if f.written.Add(int64(n)); err != nil {
			return
		}
	}
}

// full returns when no more data fits into the buffers.
func (f *flood) full() {
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for before := int64(-1); f.written.Load() != before; <-tick.C {
		before = f.written.Load()
	}
}

// TestRelayOutlivesLinksThatAreGivenUp: a link that its receiver closes, while more is being sent than the
// buffers hold, releases its place.
func TestRelayOutlivesLinksThatAreGivenUp(t *testing.T) {
	t.Parallel()
	const links = 2
	m := &movers{T: t, sender: listen(t), receiver: listen(t)}
	m.run(&Relay{Sender: through(t, m.sender), Receiver: through(t, m.receiver), most: links, linger: 100 * time.Millisecond})
	for range links {
		f := flood{ended: make(chan struct{})}
		go f.into(m.sender.take())
		receiver := m.receiver.take()
		f.full()
		_ = receiver.Close()
		<-f.ended
	}
	_ = m.sender.Listener.(*net.TCPListener).SetDeadline(time.Now().Add(15 * time.Second))
	m.sender.take()
}
