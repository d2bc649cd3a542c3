package link

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"sync"
	"time"
)

// Relayed has connections made by a relay: somebody who connects to this mover and carries each connection on to a
// peer that listens. The relay sees what anybody sees between the two, and is nobody to either of them.
type Relayed struct {
	net     net.Listener
	config  *tls.Config
	carried chan net.Conn
	done    chan struct{}
	closing sync.Once
	taking  sync.WaitGroup
}

// ListenForRelay begins to listen for a relay.
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

// Address is where it listens.
func (r *Relayed) Address() string { return r.net.Addr().String() }

// Close ends it, and no connection that was taken.
func (r *Relayed) Close() error {
	r.closing.Do(func() { close(r.done) })
	err := r.net.Close()
	r.taking.Wait()
	return err
}

// Connect waits for a connection of a relay, and shakes hands with the peer through it: by the first byte the relay sees
// that it is wanted. One that a relay has left since fails here.
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

// accept takes one connection after the other; those that nobody has asked for wait in the system.
func (r *Relayed) accept() {
	for {
		raw, err := r.net.Accept()
		if err != nil {
			select {
			case <-r.done:
				return
			case <-time.After(time.Second / 10): // out of descriptors, mostly
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
