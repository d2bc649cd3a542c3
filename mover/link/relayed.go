package link

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"sync"
	"time"
)

// Relayed uses connections from a relay, which connects to this mover and forwards each connection to a
// listening peer. The relay sees only what any network in between sees, and neither mover trusts it.
type Relayed struct {
	net     net.Listener
	config  *tls.Config
	carried chan net.Conn
	done    chan struct{}
	closing sync.Once
	taking  sync.WaitGroup
}

// ListenForRelay starts to listen for a relay.
func ListenForRelay(address string, identity Identity, peer Fingerprint) (*Relayed, error) {
	config := net.ListenConfig{KeepAliveConfig: keepAlive}
	listener, err := config.Listen(context.Background(), "tcp", address)
	if err != nil {
		return nil, err
	}
	r := &Relayed{net: listener, config: identity.config(peer), carried: make(chan net.Conn), done: make(chan struct{})}
	r.taking.Go(r.accept)
	return r, nil
}

// Address returns the address that it listens on.
func (r *Relayed) Address() string { return r.net.Addr().String() }

// Close stops listening. It does not close connections that Connect has returned.
func (r *Relayed) Close() error {
	r.closing.Do(func() { close(r.done) })
	err := r.net.Close()
	r.taking.Wait()
	return err
}

// Connect waits for a connection of a relay, and performs the handshake with the peer through it. The first
// byte shows the relay that the connection is wanted. A connection that the relay has closed since then fails
// here.
func (r *Relayed) Connect(ctx context.Context) (net.Conn, error) {
	var raw net.Conn
	select {
	case raw = <-r.carried:
	case <-r.done:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	ctx, cancel := context.WithTimeout(ctx, handshakeTime)
	defer cancel()
	secured, err := secure(ctx, raw, r.config)
	if err != nil {
		return nil, fmt.Errorf("handshake through the relay: %w", err)
	}
	return secured, nil
}

// accept accepts one connection at a time; further ones wait in the system's queue.
func (r *Relayed) accept() {
	for {
		raw, err := r.net.Accept()
		if err != nil {
			select {
			case <-r.done:
				return
			case <-time.After(time.Second / 10): // usually out of file descriptors
				continue
			}
		}
		select {
		case r.carried <- raw:
		case <-r.done:
			_ = raw.Close()
			return
		}
	}
}
