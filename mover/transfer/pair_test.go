package transfer

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"os"
	"testing"
	"time"

	"github.com/sliceshift/sliceshift/mover/differ"
	"github.com/sliceshift/sliceshift/mover/link"
	"github.com/sliceshift/sliceshift/mover/tree"
)

// pair is a source, a destination, and the link between them.
type pair struct {
	testing.TB
	source, destination string
	// receiverListens is true if the sender opens the connections.
	receiverListens bool
	// wrap, if it is set, wraps each connection.
	wrap func(net.Conn) net.Conn
	// changeSender and changeReceiver change options.
	changeSender   func(*SenderOptions)
	changeReceiver func(*ReceiverOptions)
	// pipes, if it is set, replaces TLS as the link. ctx, if it is set, ends the receiver.
	pipes    *pipes
	ctx      context.Context //nolint:containedctx // of a test
	opened   []io.Closer
	receiver *Receiver
	sender   *Sender
}

func newPair(t testing.TB) *pair {
	return &pair{TB: t, source: t.TempDir(), destination: t.TempDir()}
}

func openTree(t testing.TB, path string) *tree.Tree {
	t.Helper()
	opened, err := tree.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = opened.Close() })
	return opened
}

func quiet(t testing.TB) *slog.Logger {
	to := io.Discard
	if os.Getenv("MOVER_LOG") != "" {
		to = t.Output()
	}
	return slog.New(slog.NewTextHandler(to, &slog.HandlerOptions{Level: slog.LevelDebug}))
}

// wrapped wraps each connection.
type wrapped struct {
	Connector
	wrap func(net.Conn) net.Conn
}

func (w wrapped) Connect(ctx context.Context) (net.Conn, error) {
	c, err := w.Connector.Connect(ctx)
	if err == nil && w.wrap != nil {
		c = w.wrap(c)
	}
	return c, err
}

// ends returns the two ends of a link, with keys of their own.
func (p *pair) ends() (sender, receiver Connector) {
	p.Helper()
	if p.pipes != nil {
		return accepts{p.pipes}, p.pipes
	}
	one, err := link.NewIdentity()
	if err != nil {
		p.Fatal(err)
	}
	two, err := link.NewIdentity()
	if err != nil {
		p.Fatal(err)
	}
	listener, err := link.Listen("127.0.0.1:0", one, two.Fingerprint, nil)
	if err != nil {
		p.Fatal(err)
	}
	p.Cleanup(func() { _ = listener.Close() })
	dialer := link.Dialer{Address: listener.Address(), Identity: two, Peer: one.Fingerprint}
	if p.receiverListens {
		return dialer, wrapped{listener, p.wrap}
	}
	return listener, wrapped{dialer, p.wrap}
}

// run makes one pass, and returns the receiver's result. If the receiver has no error, it returns the sender's.
func (p *pair) run(settled bool) (Outcome, error) {
	p.Helper()
	source, destination := openTree(p, p.source), openTree(p, p.destination)
	p.opened = append(p.opened, source, destination)
	from := SenderOptions{Source: source, Sync: source.Sync, Dials: p.receiverListens, Patience: 20 * time.Second, Log: quiet(p), Now: time.Now}
	if p.changeSender != nil {
		p.changeSender(&from)
	}
	to := ReceiverOptions{Tree: destination, Settled: settled, Compare: differ.Quick, Verify: VerifyFull, Devices: true, Workers: 3, Patience: 20 * time.Second, Log: quiet(p), Now: time.Now}
	if p.changeReceiver != nil {
		p.changeReceiver(&to)
	}
	return p.runWith(from, to)
}

func (p *pair) runWith(from SenderOptions, to ReceiverOptions) (Outcome, error) {
	p.Helper()
	sends, receives := p.ends()
	receiver, err := NewReceiver(to)
	if err != nil {
		p.Fatal(err)
	}
	p.receiver, p.sender = receiver, NewSender(from)
	ctx, cancel := context.WithCancel(p.Context())
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- p.sender.Run(ctx, sends) }()
	own := ctx
	if p.ctx != nil {
		own = p.ctx
	}
	outcome, err := receiver.Run(own, receives)
	if err == nil {
		receiver.Report(own, true, "")
	}
	if err != nil {
		cancel()
		sent := <-ended
		return outcome, errors.Join(err, sent)
	}
	return outcome, <-ended
}

// mustRun makes a pass that succeeds.
func (p *pair) mustRun(settled bool) Outcome {
	p.Helper()
	outcome, err := p.run(settled)
	if err != nil {
		p.Fatal(err)
	}
	return outcome
}
