package transfer

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/sliceshift/sliceshift/mover/entry"
	"github.com/sliceshift/sliceshift/mover/tree"
	"github.com/sliceshift/sliceshift/mover/wire"
)

// piece is how much of a large file one request covers: large enough that a round trip is short beside it,
// small enough that several run at once.
const piece = 4 << 20

// writable is a file or a device that is written in several places at once.
type writable interface {
	tree.Content
	WriteAt(p []byte, offset int64) (int, error)
	Punch(offset, length int64) error
	WriteBack(offset, length int64) error
	Settle() error
}

// large is a file that is requested in pieces. The goroutine that ends the last piece finishes it.
type large struct {
	entry   *entry.Entry
	file    writable
	pending atomic.Int64
	changed atomic.Bool
	gone    atomic.Bool
	finish  func(*tree.Cursor) error
	// parts are those of the receiver's own file, if they are known. settled counts the bytes that need nothing.
	parts   *parts
	settled *atomic.Int64
}

// same counts bytes that are equal on both sides.
func (f *large) same(bytes int64) { f.settled.Add(bytes) }

// keep makes the file record which of its parts are written.
func (f *large) keep(p *parts) {
	if p != nil {
		f.parts, f.file = p, marking{f.file, p}
	}
}

// large opens a file, finds the holes of the source, and requests the rest.
func (m *merge) large(ctx context.Context, source *entry.Entry, missing bool, finish func(*tree.Cursor) error) error {
	var known *parts
	if !missing {
		var err error
		if known, err = m.partsOf(source); err != nil {
			return err
		}
	}
	file, err := m.openLarge(source, missing)
	if err != nil {
		return err
	}
	f := &large{entry: source, file: file, finish: finish, settled: &m.receiver.Counts.Settled}
	f.keep(known)
	f.pending.Store(1)
	m.receiver.open.Store(f, nil)
	if err := m.pieces(ctx, f, missing); err != nil {
		return err
	}
	return m.receiver.release(m.cursor, f)
}

func (m *merge) openLarge(source *entry.Entry, missing bool) (*tree.File, error) {
	open := m.cursor.OpenToWrite
	if missing {
		open = m.cursor.Create
	}
	file, err := open(source.Path)
	if err != nil {
		return nil, err
	}
	if err := file.Truncate(source.Size); err != nil {
		return nil, errors.Join(full(err), file.Close())
	}
	return file, nil
}

func (m *merge) pieces(ctx context.Context, f *large, missing bool) error {
	if !f.entry.Sparse() {
		if f.parts != nil {
			return m.receiver.delta(ctx, m.jobs, f)
		}
		return f.ask(ctx, m.jobs, wire.Extent{Length: f.entry.Size}, !missing)
	}
	return m.receiver.extents(ctx, f, func(hole, data wire.Extent) error {
		if err := f.file.Punch(hole.Offset, hole.Length); err != nil {
			return err
		}
		m.receiver.Counts.Settled.Add(hole.Length)
		return f.ask(ctx, m.jobs, data, !missing)
	})
}

// ask requests an extent. If it may exist already, it is compared.
func (f *large) ask(ctx context.Context, jobs chan<- job, extent wire.Extent, compare bool) error {
	end := extent.Offset + extent.Length
	for at := extent.Offset; at < end; {
		n := min(piece-at%piece, end-at)
		if compare {
			f.file.Prefetch(at, n) // the system does not detect several concurrent readers as sequential
		}
		f.pending.Add(1)
		if err := put(ctx, jobs, &ranged{large: f, offset: at, length: n, compare: compare}); err != nil {
			return err
		}
		at += n
	}
	return nil
}

// extents requests the data extents of a file, and passes each hole with the data after it.
func (r *Receiver) extents(ctx context.Context, f *large, each func(hole, data wire.Extent) error) error {
	at := int64(0)
	for more := true; more; {
		var found wire.Extents
		var end *wire.End
		err := r.call(ctx, func(ctx context.Context, c *conn) error {
			var err error
			found, end, err = askExtents(ctx, c, wire.Map{Wanted: wanted(f.entry), Offset: at})
			return err
		})
		if err != nil {
			return err
		}
		if end != nil {
			return r.left(f, *end)
		}
		for _, data := range found.List {
			if data.Offset < at {
				return fmt.Errorf("extents of %q that go back", f.entry.Path)
			}
			if err := each(wire.Extent{Offset: at, Length: data.Offset - at}, data); err != nil {
				return err
			}
			at = data.Offset + data.Length
		}
		more = found.More
	}
	return each(wire.Extent{Offset: at, Length: f.entry.Size - at}, wire.Extent{Offset: f.entry.Size})
}

func askExtents(ctx context.Context, c *conn, m wire.Map) (wire.Extents, *wire.End, error) {
	if err := c.reply(ctx, wire.TypeMap, m.Append(nil)); err != nil {
		return wire.Extents{}, nil, err
	}
	f, err := c.receive(c.silence)
	if err != nil {
		return wire.Extents{}, nil, err
	}
	switch f.Type {
	case wire.TypeExtents:
		found, err := wire.ReadExtents(f.Payload, m.Size)
		return found, nil, err
	case wire.TypeEnd:
		end, err := wire.ReadEnd(f.Payload)
		return wire.Extents{}, &end, err
	default:
		return wire.Extents{}, nil, wire.Unexpected(f)
	}
}

func wanted(e *entry.Entry) wire.Wanted {
	return wire.Wanted{Path: e.Path, Size: e.Size, Modified: e.Modified}
}

// left records how a file, or a piece of it, ended at the sender.
func (r *Receiver) left(f *large, end wire.End) error {
	switch end.Status {
	case wire.OK:
		return nil
	case wire.Failed:
		return fatal{&remote{path: f.entry.Path, problem: end.Problem}}
	case wire.Vanished:
		f.gone.Store(true)
	case wire.Changed:
		f.changed.Store(true)
	}
	if r.options.Settled {
		return fatal{errLeft(f.entry.Path, end.Status)}
	}
	return nil
}

// release is called once for each finished piece, and once by the requester.
func (r *Receiver) release(cursor *tree.Cursor, f *large) error {
	if f.pending.Add(-1) > 0 {
		return nil
	}
	if r.options.Device != nil {
		return nil
	}
	r.open.Delete(f)
	err := f.file.Settle()
	// The written data are not needed soon, but other cached data may be.
	f.file.Drop()
	err = errors.Join(err, f.file.Close())
	if err != nil {
		return full(err)
	}
	return errors.Join(r.settle(cursor.SetMetadata, f.entry, f.status()), f.finish(cursor))
}

func (f *large) status() wire.Status {
	switch {
	case f.gone.Load():
		return wire.Vanished
	case f.changed.Load():
		return wire.Changed
	default:
		return wire.OK
	}
}

// unsettled is the time of a file that must be compared again: a time that no source has.
var unsettled = entry.Time{Sec: 0, Nsec: 1}

// settle writes a file's metadata. For a file that changed meanwhile it sets a mark for the next pass.
func (r *Receiver) settle(set func(*entry.Entry) error, e *entry.Entry, status wire.Status) error {
	switch status {
	case wire.Vanished:
		r.Counts.Vanished.Add(1)
	case wire.Changed:
		r.Counts.Changed.Add(1)
	default:
		return set(e)
	}
	marked := *e
	marked.Modified = unsettled
	return set(&marked)
}

// device compares a whole device.
func (r *Receiver) device(ctx context.Context, list *peerList, jobs chan<- job) error {
	source, err := list.next(ctx)
	if err != nil {
		return err
	}
	if source == nil || source.Kind != entry.Device {
		return errNoDevice
	}
	r.listed(source)
	own := r.options.Device
	if own.Size < source.Size {
		return fmt.Errorf("%s has %d bytes and the source %d: make the claim at least as large", own.Name(), own.Size, source.Size)
	}
	own.Limit = source.Size
	r.Counts.Fetched.Add(1)
	f := &large{entry: source, file: own, finish: func(*tree.Cursor) error { return nil }, settled: &r.Counts.Settled}
	f.keep(r.deviceParts(source.Size))
	f.pending.Store(1)
	request := func() error { return f.ask(ctx, jobs, wire.Extent{Length: source.Size}, true) }
	if f.parts != nil {
		request = func() error { return r.delta(ctx, jobs, f) }
	}
	if err := request(); err != nil {
		return err
	}
	if end, err := list.next(ctx); err != nil || end != nil {
		return errors.Join(err, errMore)
	}
	return nil
}
