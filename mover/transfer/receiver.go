package transfer

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/sliceshift/sliceshift/mover/block"
	"github.com/sliceshift/sliceshift/mover/differ"
	"github.com/sliceshift/sliceshift/mover/entry"
	"github.com/sliceshift/sliceshift/mover/report"
	"github.com/sliceshift/sliceshift/mover/tree"
	"github.com/sliceshift/sliceshift/mover/wire"
)

// Verify is how both sides are compared at the end of a pass.
type Verify string

// Full reads every byte of both sides again. Changed takes over what an earlier warm pass found of files
// that have not changed since (differ.Trusted), and in a warm pass keeps what was read. None compares nothing.
const (
	VerifyFull    Verify = "Full"
	VerifyChanged Verify = "Changed"
	VerifyNone    Verify = "None"
)

// ReceiverOptions say what a receiver does. One of Tree and Device is its destination.
type ReceiverOptions struct {
	Tree   *tree.Tree
	Device *block.Device
	// Settled: the last pass. Nobody writes at the source, so that what changes is an error.
	Settled bool
	Compare differ.Compare
	Verify  Verify
	// Copy tells this copy from every other one: what was read of it counts for no other. Empty: nothing is kept.
	Copy string
	// Devices has device nodes made. Without it the pass fails at them, and names them.
	Devices bool
	// Workers is how many connections ask for content.
	Workers int
	// Patience is for how long nothing may get any further.
	Patience time.Duration
	Log      *slog.Logger
	Now      func() time.Time

	// mostTaken is for tests; 0 is mostTaken.
	mostTaken int
}

// Counts are what has been done so far. They grow while a pass runs.
type Counts struct {
	// Entries, Files and Bytes are what the sender listed, and Holes how many of these bytes take no room there.
	Entries, Files, Bytes, Holes atomic.Int64
	// Fetched is how many files were asked for, Received how many bytes of content arrived, Written how many
	// were written; Settled is how many bytes of files need nothing more.
	Fetched, Received, Written, Settled atomic.Int64
	// Removed is how many entries the sender had not; Vanished and Changed how many files were left to the next pass.
	Removed, Vanished, Changed atomic.Int64
	// Verified is how many bytes were read again.
	Verified atomic.Int64
}

// Outcome is what a pass came to.
type Outcome struct {
	// Own and Peer are the lists of both sides, where they were compared.
	Own, Peer *tree.Listed
	// Differences is how many entries are not equal, First what the first one is.
	Differences int64
	First       Difference
	// Kept says that what was read is kept for the next pass.
	Kept bool
	// Verifying is how long the comparison took, with the sync of the destination before it.
	Verifying time.Duration
}

// Difference is one path that is not equal.
type Difference struct{ Path, What string }

// Receiver makes its destination equal to a sender's source.
type Receiver struct {
	options ReceiverOptions
	Counts  Counts
	session [16]byte
	streams atomic.Uint64
	link    Connector
	// progress is when something got further, in nanoseconds.
	progress  atomic.Int64
	verifying atomic.Bool
	// unsynced is how many bytes of small files were written since the last sync, which syncing says is under way.
	unsynced atomic.Int64
	syncing  atomic.Bool
	// open are the large files that are being written.
	open sync.Map
	// failed is the first error of the destination's disk: the system says it once.
	failed atomic.Pointer[error]
}

// State is how far it is.
func (r *Receiver) State() report.State {
	c := &r.Counts
	now := report.State{Step: "copying", Done: c.Settled.Load(), Total: c.Bytes.Load(), Entries: c.Entries.Load(), Files: c.Fetched.Load()}
	if r.verifying.Load() {
		now.Step, now.Done = "comparing", c.Verified.Load()
	}
	return now
}

// NewReceiver makes one.
func NewReceiver(options ReceiverOptions) (*Receiver, error) {
	r := &Receiver{options: options}
	if (options.Tree == nil) == (options.Device == nil) {
		return nil, errors.New("a receiver writes to a tree or to a device")
	}
	_, err := rand.Read(r.session[:])
	return r, err
}

// Run makes one pass.
func (r *Receiver) Run(ctx context.Context, connector Connector) (Outcome, error) {
	r.link = connector
	r.advance()
	before := r.find()
	defer before.close()
	err := r.timed("copied", func() error { return r.pass(ctx) })
	var outcome Outcome
	if err == nil && r.options.Verify == VerifyNone {
		err = r.sync()
	}
	if err == nil && r.options.Verify != VerifyNone {
		r.verifying.Store(true)
		begin := time.Now()
		outcome, err = r.prove(ctx, before)
		outcome.Verifying = time.Since(begin)
	}
	return outcome, r.judge(err)
}

// note keeps an error of the destination's disk, whatever else ends the pass at the same time.
func (r *Receiver) note(err error) error {
	if errors.Is(err, syscall.EIO) {
		r.failed.CompareAndSwap(nil, &err)
	}
	return err
}

// judge is what a pass ends with.
func (r *Receiver) judge(err error) error {
	if failed := r.failed.Load(); failed != nil && !errors.Is(err, *failed) {
		return errors.Join(broken(*failed), err)
	}
	return broken(err)
}

// timed says in the log how long a step took.
func (r *Receiver) timed(what string, step func() error) error {
	begin := time.Now()
	err := step()
	if err == nil {
		r.options.Log.Info(what, "seconds", time.Since(begin).Seconds())
	}
	return err
}

// Report tells the sender how it went, so that it can go. A sender that is gone already is no error.
func (r *Receiver) Report(ctx context.Context, ok bool, text string) {
	const patience = 10 * time.Second
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	err := r.call(ctx, func(ctx context.Context, c *conn) error {
		if err := c.reply(ctx, wire.TypeDone, wire.Done{OK: ok, Text: text}.Append(nil)); err != nil {
			return err
		}
		_, err := c.receive(patience)
		return err
	})
	if err != nil {
		r.options.Log.Debug("the sender was not told", "error", err)
	}
}

// broken tells the disk that fails from all else.
func broken(err error) error {
	if errors.Is(err, syscall.EIO) && !errors.As(err, new(*remote)) {
		return fmt.Errorf("%w: its disk has failed, and what it was given since may be lost: %w", ErrDiscard, err)
	}
	return err
}

// remote is an error that the sender told.
type remote struct{ path, problem string }

func (e *remote) Error() string {
	if e.path == "" {
		return "the sender: " + e.problem
	}
	return fmt.Sprintf("the sender cannot read %q: %s", e.path, e.problem)
}

// sync writes all of the destination to its disk.
func (r *Receiver) sync() error {
	return r.timed("written to the disk", func() error {
		if r.options.Device != nil {
			return r.note(r.options.Device.Sync())
		}
		return r.note(r.options.Tree.Sync())
	})
}

func (r *Receiver) source() tree.Source {
	if r.options.Device != nil {
		return r.options.Device
	}
	return r.options.Tree
}

func (r *Receiver) advance() { r.progress.Store(time.Now().UnixNano()) }

// hello is what the receiver says first.
func (r *Receiver) hello() wire.Hello {
	const others = 2 // for the list, and for extents
	return wire.Hello{
		Version: wire.Version, Role: wire.Receiver, Session: r.session,
		Device: r.options.Device != nil, Connections: uint64(r.options.Workers + others),
	}
}

// connect makes a connection that the sender has greeted. It tries for as long as something got further
// lately.
func (r *Receiver) connect(ctx context.Context) (*conn, error) {
	var pause pauses
	begin := time.Now()
	for {
		c, err := r.tryConnect(ctx, begin)
		if err == nil {
			return c, nil
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if errors.Is(err, errMisfit) {
			return nil, err
		}
		quiet := time.Since(r.lately(begin))
		if quiet > r.options.Patience {
			return nil, fmt.Errorf("nothing has got further for %s; see whether the sender runs, and whether the two reach each other: %w", quiet.Round(time.Second), err)
		}
		r.options.Log.Debug("no connection to the sender", "error", err)
		pause.wait(ctx)
	}
}

// lately is when something got further last, or when that began to matter.
func (r *Receiver) lately(begin time.Time) time.Time {
	if last := time.Unix(0, r.progress.Load()); last.After(begin) {
		return last
	}
	return begin
}

func (r *Receiver) tryConnect(ctx context.Context, begin time.Time) (*conn, error) {
	quiet := time.Until(r.lately(begin).Add(r.options.Patience))
	within, cancel := context.WithTimeout(ctx, max(quiet, time.Second))
	defer cancel()
	raw, err := r.link.Connect(within)
	if err != nil {
		return nil, err
	}
	c, err := newConn(raw, nil, nil)
	if err != nil {
		_ = raw.Close()
		return nil, err
	}
	own := r.hello()
	if err := c.reply(ctx, wire.TypeHello, own.Append(nil)); err != nil {
		c.close()
		return nil, err
	}
	if _, err := receiveHello(c, own, helloTime); err != nil {
		c.close()
		return nil, err
	}
	return c, nil
}

// call makes one request on a connection of its own, again and again until it was answered.
func (r *Receiver) call(ctx context.Context, request func(context.Context, *conn) error) error {
	for {
		c, err := r.connect(ctx)
		if err != nil {
			return err
		}
		stop := context.AfterFunc(ctx, func() { _ = c.net.Close() })
		err = request(ctx, c)
		stop()
		c.close()
		if err == nil || ctx.Err() != nil || !again(err) {
			return errors.Join(err, ctx.Err())
		}
		r.options.Log.Debug("asking again", "error", err)
	}
}

// fatal is an error that another connection does not mend.
type fatal struct{ error }

func (f fatal) Unwrap() error { return f.error }

func again(err error) bool { return !errors.As(err, new(fatal)) }

// listed is what an entry of the sender counts for.
func (r *Receiver) listed(e *entry.Entry) {
	r.Counts.Entries.Add(1)
	if e.Kind.HasContent() {
		r.Counts.Files.Add(1)
		r.Counts.Bytes.Add(e.Size)
		if e.Sparse() {
			r.Counts.Holes.Add(e.Size - e.Allocated)
		}
	}
}
