package transfer

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"syscall"

	"github.com/zeebo/blake3"

	"github.com/sliceshift/sliceshift/mover/codec"
	"github.com/sliceshift/sliceshift/mover/entry"
	"github.com/sliceshift/sliceshift/mover/report"
	"github.com/sliceshift/sliceshift/mover/tree"
	"github.com/sliceshift/sliceshift/mover/wire"
)

// depth is how many requests of a connection run at once, so that it never waits for a round trip.
const depth = 8

// job is one request and the processing of its answer.
type job interface {
	// request builds the request for the parts that are still missing.
	request(w *worker) (wire.Type, []byte, error)
	// receive processes one frame of the answer; ended is true for the last one.
	receive(w *worker, f wire.Frame) (ended bool, err error)
}

// worker has one connection, and requests content on it.
type worker struct {
	receiver *Receiver
	cursor   *tree.Cursor // for the receiving goroutine
	buffer   []byte       // for the requesting goroutine
	payload  []byte
	left     []job // of a connection that broke
}

func newWorker(r *Receiver) *worker {
	w := &worker{receiver: r}
	if r.options.Tree != nil {
		w.cursor = r.options.Tree.Cursor()
	}
	return w
}

// run works until there are no more jobs.
func (w *worker) run(ctx context.Context, jobs <-chan job) error {
	if w.cursor != nil {
		defer w.cursor.Close()
	}
	for {
		if len(w.left) == 0 {
			// No connection is needed before there is something to request.
			select {
			case j, more := <-jobs:
				if !more {
					return nil
				}
				w.left = append(w.left, j)
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		c, err := w.receiver.connect(ctx)
		if err != nil {
			return err
		}
		err = w.use(ctx, c, jobs)
		c.close()
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil && !again(err) {
			return err
		}
		if err != nil {
			w.receiver.options.Log.Debug("a connection broke", "error", err, "again", len(w.left))
		}
	}
}

// use sends requests and receives answers on one connection until it breaks or nothing is left to request.
func (w *worker) use(ctx context.Context, c *conn, jobs <-chan job) error {
	stop := context.AfterFunc(ctx, func() { _ = c.net.Close() })
	defer stop()
	under := make(chan job, depth)
	received := make(chan error, 1)
	broken := make(chan struct{})
	var rest []job
	go func() {
		var err error
		for j := range under {
			if err == nil {
				if err = w.receiver.note(w.answered(c, j)); err != nil {
					_ = c.net.Close()
					close(broken)
				}
			}
			if err != nil {
				rest = append(rest, j)
			}
		}
		received <- err
	}()
	asked := w.ask(ctx, c, jobs, under, broken)
	close(under)
	err := <-received
	w.left = slices.Concat(rest, w.left)
	if err != nil && !again(err) {
		return err
	}
	return errors.Join(asked, err)
}

// ask sends one request after the other, first those of a connection that broke.
func (w *worker) ask(ctx context.Context, c *conn, jobs <-chan job, under chan<- job, broken <-chan struct{}) error {
	for {
		var next job
		if len(w.left) > 0 {
			next, w.left = w.left[0], w.left[1:]
		} else {
			var more bool
			select {
			case next, more = <-jobs:
				if !more {
					return nil
				}
			case <-broken:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		t, payload, err := next.request(w)
		if err != nil {
			return fatal{w.receiver.note(err)}
		}
		select {
		case under <- next:
		case <-ctx.Done():
			return ctx.Err()
		}
		if err := c.reply(ctx, t, payload); err != nil {
			_ = c.net.Close()
			return err
		}
	}
}

func (w *worker) answered(c *conn, j job) error {
	for {
		f, err := c.receive(c.silence)
		if err != nil {
			return err
		}
		ended, err := j.receive(w, f)
		if err != nil {
			return err
		}
		w.receiver.advance()
		if ended {
			return nil
		}
	}
}

// full adds the remedy to the error of a full disk.
func full(err error) error {
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		return fatal{fmt.Errorf(report.Full+": enlarge its claim, and start again; the copied data is kept: %w", err)}
	}
	if err != nil {
		return fatal{err}
	}
	return nil
}

// batch requests several small files.
type batch struct {
	files []*small
	bytes int64
	paths int
}

// small is a file that is requested whole.
type small struct {
	entry   *entry.Entry
	missing bool
	finish  func(*tree.Cursor) error
}

func (b *batch) request(w *worker) (wire.Type, []byte, error) {
	b.files = slices.DeleteFunc(b.files, func(f *small) bool { return f == nil })
	list := make([]wire.Wanted, len(b.files))
	for i, f := range b.files {
		list[i] = wanted(f.entry)
	}
	w.payload = wire.AppendFiles(w.payload[:0], list)
	return wire.TypeFiles, w.payload, nil
}

func (b *batch) receive(w *worker, f wire.Frame) (bool, error) {
	switch f.Type {
	case wire.TypeEnd:
		for _, file := range b.files {
			if file != nil {
				return false, fatal{fmt.Errorf("%w: an answer without %.200q", codec.ErrMalformed, file.entry.Path)}
			}
		}
		return true, nil
	case wire.TypeFile:
		contents, err := wire.ReadContents(f.Payload)
		if err != nil {
			return false, fatal{err}
		}
		for _, content := range contents {
			if content.Index >= uint64(len(b.files)) || b.files[content.Index] == nil {
				return false, fatal{fmt.Errorf("%w: file %d of %d, or twice", codec.ErrMalformed, content.Index, len(b.files))}
			}
			if err := w.store(b.files[content.Index], content); err != nil {
				return false, full(err)
			}
			b.files[content.Index] = nil
		}
		return false, nil
	default:
		return false, wire.Unexpected(f)
	}
}

// ranged requests a part of a large file.
type ranged struct {
	large          *large
	offset, length int64
	// arrived is how much of it, from its start, needs nothing more. Data that a connection delivered before it
	// broke are not requested again. Otherwise a link that always breaks within a part would never complete
	// one.
	arrived int64
	compare bool
	written bool
}

// left returns the part that has not arrived yet.
func (j *ranged) left() (offset, length int64) { return j.offset + j.arrived, j.length - j.arrived }

func (j *ranged) request(w *worker) (wire.Type, []byte, error) {
	m := wire.Range{Wanted: wanted(j.large.entry)}
	m.Offset, m.Length = j.left()
	if j.compare {
		sums, err := w.sums(j)
		if err != nil {
			return 0, nil, err
		}
		m.Sums = sums
	}
	w.payload = m.Append(w.payload[:0])
	return wire.TypeRange, w.payload, nil
}

// sums returns the digests of the receiver's own blocks of a range.
func (w *worker) sums(j *ranged) ([]byte, error) {
	if w.buffer == nil {
		w.buffer = tree.Aligned(wire.MaxData)
	}
	at, length := j.left()
	sums := make([]byte, 0, (length+wire.Block-1)/wire.Block*wire.SumSize)
	for end := at + length; at < end; {
		data := w.buffer[:min(wire.MaxData, end-at)]
		if err := tree.ReadFull(j.large.file, data, at); err != nil {
			return nil, fmt.Errorf("reading %q: %w", j.large.entry.Path, err)
		}
		for i := 0; i < len(data); i += wire.Block {
			sum := blake3.Sum256(data[i:min(i+wire.Block, len(data))])
			sums = append(sums, sum[:wire.SumSize]...)
		}
		at += int64(len(data))
	}
	return sums, nil
}

func (j *ranged) receive(w *worker, f wire.Frame) (bool, error) {
	switch f.Type {
	case wire.TypeData:
		offset, data, err := wire.ReadData(f.Payload)
		if err != nil {
			return false, fatal{err}
		}
		if next, length := j.left(); offset < next || int64(len(data)) > next+length-offset {
			return false, fatal{fmt.Errorf("%w: %d bytes at %d of %.200q, which were not requested", codec.ErrMalformed, len(data), offset, j.large.entry.Path)}
		}
		if _, err := j.large.file.WriteAt(data, offset); err != nil {
			return false, full(err)
		}
		j.written = true
		if !j.compare { // otherwise the digests of the next request show what is there
			j.arrived = offset + int64(len(data)) - j.offset
		}
		w.receiver.Counts.Received.Add(int64(len(data)))
		w.receiver.Counts.Written.Add(int64(len(data)))
		return false, nil
	case wire.TypeEnd:
		end, err := wire.ReadEnd(f.Payload)
		if err != nil {
			return false, fatal{err}
		}
		if err := w.receiver.left(j.large, end); err != nil {
			return false, err
		}
		w.receiver.Counts.Settled.Add(j.length)
		if j.written {
			// The disk works while the rest arrives, so that little is left to the end.
			if err := j.large.file.WriteBack(j.offset, j.length); err != nil {
				return false, full(err)
			}
		}
		if err := w.receiver.release(w.cursor, j.large); err != nil {
			return false, fatal{err}
		}
		return true, nil
	default:
		return false, wire.Unexpected(f)
	}
}
