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

// Verify is the way to compare the two sides at the end of a pass.
type Verify string

// Full reads every byte of the two sides again. Changed reuses the findings of an earlier warm pass for
// unchanged files (differ.Trusted), and keeps the findings in a warm pass. Later reads back what was written, and
// leaves the source to a Seal after the pass. None compares nothing.
const (
	VerifyFull    Verify = "Full"
	VerifyChanged Verify = "Changed"
	VerifyLater   Verify = "Later"
	VerifyNone    Verify = "None"
)

// ReceiverOptions configure a receiver. One of Tree and Device is its destination.
type ReceiverOptions struct {
	Tree   *tree.Tree
	Device *block.Device
	// Settled is true for the last pass. No process may write at the source, so a change is an error.
	Settled bool
	Compare differ.Compare
	Verify  Verify
	// Copy identifies this copy: its findings count for no other. If it is empty, nothing is kept.
	Copy string
	// Devices allows the creation of device nodes. Without it the pass fails at them, and names them.
	Devices bool
	// Changes, if it is set, says what the source's storage knows about its changes. It is for Later.
	Changes Changes
	// Workers is how many connections request content.
	Workers int
	// Patience is the longest time without progress.
	Patience time.Duration
	Log      *slog.Logger
	Now      func() time.Time

	// mostTaken is for tests; 0 is the constant mostTaken.
	mostTaken int
}

// Counts are the counters so far. They grow while a pass runs.
type Counts struct {
	// Entries, Files and Bytes are those that the sender listed. Holes is how many of the bytes are holes
	// there.
	Entries, Files, Bytes, Holes atomic.Int64
	// Fetched is how many files were requested, Received how many bytes of content arrived, and Written how
	// many were written. Settled is how many bytes of files need nothing more.
	Fetched, Received, Written, Settled atomic.Int64
	// Removed is how many entries the sender did not have. Vanished and Changed are how many files were left to
	// the next pass.
	Removed, Vanished, Changed atomic.Int64
	// Verified is how many bytes were read again.
	Verified atomic.Int64
}

// Outcome is the result of a pass.
type Outcome struct {
	// Own and Peer are the lists of the two sides, if they were compared.
	Own, Peer *tree.Listed
	// Differences is how many entries are not equal, and First is the first of them.
	Differences int64
	First       Difference
	// Tally is of the receiver's side, after a last pass with Later: for a Seal of the source that finds another root.
	Tally tree.Tally
	// Kept is true if the findings are kept for the next pass. Young is how many bytes of the source that pass compares
	// even if nothing changes any more, after a warm pass with Later.
	Kept  bool
	Young int64
	// Verifying is the duration of the comparison, with the sync of the destination before it.
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
	// progress is the time of the last progress, in nanoseconds.
	progress  atomic.Int64
	verifying atomic.Bool
	// unsynced is how many bytes of small files were written since the last sync. syncing is true while one
	// runs.
	unsynced atomic.Int64
	syncing  atomic.Bool
	// beside does something while a pass runs, which ends with its error.
	beside func(func() error)
	// open are the large files that are being written.
	open sync.Map
	// known are the digests that the pass before has kept, for the walk of this one; nil if there are none. ledger
	// holds those of the files that are changed. Both are for Later.
	known  *tree.Index
	ledger ledger
	// peer is where the sender reads, by its first greeting of the pass; nil before. sources are the files of the source
	// of the pass before and of this one, for Later.
	peer    atomic.Pointer[differ.Reading]
	sources *sources
	// failed is the first error of the destination's disk: the system reports it once.
	failed atomic.Pointer[error]
}

// State returns the progress.
func (r *Receiver) State() report.State {
	c := &r.Counts
	now := report.State{Step: "copying", Done: c.Settled.Load(), Total: c.Bytes.Load(), Entries: c.Entries.Load(), Files: c.Fetched.Load()}
	if r.verifying.Load() {
		now.Step, now.Done = "comparing", c.Verified.Load()
	}
	return now
}

// NewReceiver returns a receiver.
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
	r.recall(before)
	r.sources = &sources{before: before.peer}
	defer r.sources.close()
	err := r.timed("copied", func() error { return r.pass(ctx) })
	var outcome Outcome
	if err == nil && r.options.Verify == VerifyNone {
		err = r.sync()
	}
	if err == nil && r.options.Verify != VerifyNone {
		r.verifying.Store(true)
		begin := time.Now()
		prove := r.prove
		if r.keeps() {
			prove = r.readBack
		}
		outcome, err = prove(ctx, before)
		outcome.Verifying = time.Since(begin)
	}
	return outcome, r.judge(err)
}

// note records an error of the destination's disk, whatever else ends the pass at the same time.
func (r *Receiver) note(err error) error {
	if errors.Is(err, syscall.EIO) {
		r.failed.CompareAndSwap(nil, &err)
	}
	return err
}

// judge returns the error of a pass.
func (r *Receiver) judge(err error) error {
	if failed := r.failed.Load(); failed != nil && !errors.Is(err, *failed) {
		return errors.Join(broken(*failed), err)
	}
	return broken(err)
}

// timed logs the duration of a step.
func (r *Receiver) timed(what string, step func() error) error {
	begin := time.Now()
	err := step()
	if err == nil {
		r.options.Log.Info(what, "seconds", time.Since(begin).Seconds())
	}
	return err
}

// Report sends the sender the result, so that it can exit. A sender that has exited already is no error.
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
		r.options.Log.Debug("the sender was not notified", "error", err)
	}
}

// broken marks an error of the failed destination disk.
func broken(err error) error {
	if errors.Is(err, syscall.EIO) && !errors.As(err, new(*remote)) {
		return fmt.Errorf("%w: its disk has failed, and recent writes may be lost: %w", ErrDiscard, err)
	}
	return err
}

// remote is an error that the sender reported.
type remote struct{ path, problem string }

func (e *remote) Error() string {
	if e.path == "" {
		return "the sender: " + e.problem
	}
	return fmt.Sprintf("the sender cannot read %q: %s", e.path, e.problem)
}

// sync writes the whole destination to its disk.
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

// hello returns the receiver's first message.
func (r *Receiver) hello() wire.Hello {
	const others = 2 // for the list, and for extents
	return wire.Hello{
		Version: wire.Version, Role: wire.Receiver, Session: r.session,
		Device: r.options.Device != nil, Connections: uint64(r.options.Workers + others),
	}
}

// connect returns a connection with a completed greeting. It retries as long as there was progress recently.
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
			return nil, fmt.Errorf("there was no progress for %s; check that the sender runs, and that both movers reach each other: %w", quiet.Round(time.Second), err)
		}
		r.options.Log.Debug("no connection to the sender", "error", err)
		pause.wait(ctx)
	}
}

// lately returns the time of the last progress, but not earlier than begin.
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
	peer, err := receiveHello(c, own, helloTime)
	if err != nil {
		c.close()
		return nil, err
	}
	r.greeted(peer)
	return c, nil
}

// call makes one request on a connection of its own, and repeats it until it is answered.
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

// fatal is an error that another connection does not fix.
type fatal struct{ error }

func (f fatal) Unwrap() error { return f.error }

func again(err error) bool { return !errors.As(err, new(fatal)) }

// listed adds an entry of the sender to the counters.
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
