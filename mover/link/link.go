package link

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"
)

// Handshakes are bounded in time and in number, for every caller.
const (
	handshakeTime = 10 * time.Second
	handshakes    = 32
)

// keepAlive detects a lost peer in about 30 s, and keeps load balancers from closing idle connections. If a
// device in between has reset the peer's side, the first probe detects it. The first probe is early, because a
// link that breaks every second would otherwise stall that long each time.
var keepAlive = net.KeepAliveConfig{Enable: true, Idle: 2 * time.Second, Interval: 4 * time.Second, Count: 7}

// Dialer connects to a peer that listens.
type Dialer struct {
	Address  string
	Identity Identity
	Peer     Fingerprint
}

// Connect connects to the peer. The peer has proven its key when it returns. Whether the peer accepts this
// side's key is known with the first message.
func (d Dialer) Connect(ctx context.Context) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, handshakeTime)
	defer cancel()
	dialer := net.Dialer{KeepAliveConfig: keepAlive}
	raw, err := dialer.DialContext(ctx, "tcp", d.Address)
	if err != nil {
		return nil, err
	}
	secured, err := secure(ctx, raw, d.Identity.config(d.Peer))
	if err != nil {
		return nil, fmt.Errorf("handshake with %s: %w", d.Address, err)
	}
	return secured, nil
}

// secure performs the handshake over a connection to a listening peer. It closes the connection if that fails.
func secure(ctx context.Context, raw net.Conn, config *tls.Config) (net.Conn, error) {
	below := newGather(raw)
	client := tls.Client(below, config)
	if err := client.HandshakeContext(ctx); err != nil {
		return nil, errors.Join(err, raw.Close())
	}
	return &conn{client, below}, nil
}

// Listener accepts connections of one peer. Other callers, and the probes of load balancers, do not affect it.
type Listener struct {
	net       net.Listener
	config    *tls.Config
	ready     chan net.Conn
	slots     chan struct{}
	done      chan struct{}
	closing   sync.Once
	handshake sync.WaitGroup
	// refused, if it is set, is called with the reason of each refused connection.
	refused func(error)
}

// Listen starts to listen. It may call refused often, so the reasons belong in a log at a low level.
func Listen(address string, identity Identity, peer Fingerprint, refused func(error)) (*Listener, error) {
	config := net.ListenConfig{KeepAliveConfig: keepAlive}
	listener, err := config.Listen(context.Background(), "tcp", address)
	if err != nil {
		return nil, err
	}
	l := &Listener{
		net: listener, config: identity.config(peer), refused: refused,
		ready: make(chan net.Conn), slots: make(chan struct{}, handshakes), done: make(chan struct{}),
	}
	l.handshake.Add(1)
	go l.accept()
	return l, nil
}

// Address returns the address that it listens on.
func (l *Listener) Address() string { return l.net.Addr().String() }

// Close stops listening. It does not close connections that Connect has returned.
func (l *Listener) Close() error {
	l.closing.Do(func() { close(l.done) })
	err := l.net.Close()
	l.handshake.Wait()
	return err
}

// Connect waits for the next connection of the peer.
func (l *Listener) Connect(ctx context.Context) (net.Conn, error) {
	select {
	case conn := <-l.ready:
		return conn, nil
	case <-l.done:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (l *Listener) accept() {
	defer l.handshake.Done()
	for {
		raw, err := l.net.Accept()
		if err != nil {
			select {
			case <-l.done:
				return
			case <-time.After(time.Second / 10): // usually out of file descriptors
				continue
			}
		}
		select {
		case l.slots <- struct{}{}:
		default:
			_ = raw.Close() // the limit of concurrent handshakes is reached
			continue
		}
		l.handshake.Go(func() {
			defer func() { <-l.slots }()
			l.greet(raw)
		})
	}
}

func (l *Listener) greet(raw net.Conn) {
	ctx, cancel := context.WithTimeout(context.Background(), handshakeTime)
	defer cancel()
	stop := context.AfterFunc(ctx, func() { _ = raw.Close() })
	go func() {
		select {
		case <-l.done:
			cancel()
		case <-ctx.Done():
		}
	}()
	below := newGather(raw)
	server := tls.Server(below, l.config)
	if err := server.HandshakeContext(ctx); err != nil {
		_ = raw.Close()
		if l.refused != nil {
			l.refused(fmt.Errorf("a connection from %s was turned away: %w", raw.RemoteAddr(), err))
		}
		return
	}
	if !stop() {
		return
	}
	// From here on this function sets no deadline; the connection waits until Connect takes it.
	select {
	case l.ready <- &conn{server, below}:
	case <-l.done:
		_ = server.Close()
	}
}
