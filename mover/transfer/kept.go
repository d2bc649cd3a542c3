package transfer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"

	"github.com/sliceshift/sliceshift/mover/tree"
	"github.com/sliceshift/sliceshift/mover/wire"
)

// The findings of a warm pass are kept in the root of the destination until the next pass begins, in one file
// for each side. There they belong to this very volume and are deleted with it. To a pass each is just another
// file that the source does not have, and is removed. So a proof that finds both sides equal has not seen it. A
// process that has opened it before can still read it, and sends the sender its part.

// kept holds the findings for and from the receiver at the sender, in files without a name.
type kept struct {
	mu       sync.Mutex
	given    *os.File // from the receiver, as much as has arrived
	size     int64
	whole    bool
	trouble  error
	finished *os.File // for the receiver
}

func (k *kept) close() {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, file := range []*os.File{k.given, k.finished} {
		if file != nil {
			_ = file.Close()
		}
	}
	k.given, k.finished = nil, nil
}

// scratch returns a file that is deleted when it is closed.
func scratch(folder string) (*os.File, error) {
	if folder == "" {
		return nil, errors.New("this sender has no folder for the index of the previous pass")
	}
	file, err := os.CreateTemp(folder, "index-")
	if err != nil {
		return nil, err
	}
	if err := os.Remove(file.Name()); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return file, nil
}

// put takes a part of the findings that the receiver has kept. Empty data mark the end, whose answer reports
// any error.
func (k *kept) put(folder string, offset int64, data []byte) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(data) == 0 {
		if k.trouble == nil && (k.given == nil || offset != k.size) {
			k.trouble = errors.New("a part of the previous index is missing")
		}
		k.whole = k.trouble == nil
		return k.trouble
	}
	if offset == 0 {
		if k.given != nil {
			_ = k.given.Close()
		}
		k.size, k.whole = 0, false
		k.given, k.trouble = scratch(folder)
	}
	if k.trouble == nil && (k.given == nil || offset != k.size || offset > tree.MaxIndex) {
		k.trouble = errors.New("the previous index arrives out of order, or is too large")
	}
	if k.trouble == nil {
		_, k.trouble = k.given.WriteAt(data, offset)
		k.size += int64(len(data))
	}
	return nil
}

// known returns the findings that the receiver has sent; nil if there are none, or not all.
func (k *kept) known() *os.File {
	k.mu.Lock()
	defer k.mu.Unlock()
	if !k.whole {
		return nil
	}
	return k.given
}

// finish stores a file with all findings of this reading.
func (k *kept) finish(file *os.File) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.finished != nil {
		_ = k.finished.Close()
	}
	k.finished = file
}

// given takes a part of the findings that the receiver has kept for this side.
func (a *answer) given(ctx context.Context, payload []byte) error {
	offset, data, err := wire.ReadData(payload)
	if err != nil {
		return err
	}
	err = a.sender.kept.put(a.sender.options.Scratch, offset, data)
	if len(data) > 0 {
		return nil
	}
	return a.end(ctx, err, wire.OK)
}

// record answers with the findings of this side.
func (a *answer) record(ctx context.Context) error {
	k := &a.sender.kept
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.finished == nil {
		return a.end(ctx, nil, wire.Vanished)
	}
	err := chunks(k.finished, a.room(wire.MaxData), func(offset int64, data []byte) error {
		a.payload = append(wire.AppendData(a.payload[:0], offset), data...)
		return a.conn.send(ctx, wire.TypeData, a.payload)
	})
	if err != nil && again(err) {
		return err
	}
	return a.end(ctx, err, wire.OK)
}

// chunks passes a file to send in parts.
func chunks(file *os.File, room []byte, send func(offset int64, data []byte) error) error {
	for offset := int64(0); ; {
		n, err := file.ReadAt(room, offset)
		if n > 0 {
			if err := send(offset, room[:n]); err != nil {
				return err
			}
			offset += int64(n)
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fatal{err}
		}
	}
}

// names returns the names of the kept findings of the two sides in the root of the destination.
func names(of string) (own, peer string) {
	return ".sliceshift-" + of + "-receiver", ".sliceshift-" + of + "-sender"
}

// found holds the findings that the pass before has kept.
type found struct{ own, peer *os.File }

func (f found) close() {
	for _, file := range []*os.File{f.own, f.peer} {
		if file != nil {
			_ = file.Close()
		}
	}
}

// find opens the findings of the pass before, if they are complete.
func (r *Receiver) find() (f found) {
	if r.options.Tree == nil || r.options.Copy == "" {
		return f
	}
	own, peer := names(r.options.Copy)
	var errs [2]error
	f.own, errs[0] = r.options.Tree.Find(own)
	f.peer, errs[1] = r.options.Tree.Find(peer)
	err := r.note(errors.Join(errs[:]...))
	if err != nil {
		r.options.Log.Warn("all is read: the previous index is unavailable", "why", err)
	}
	if missing := f.own == nil || f.peer == nil; err != nil || missing && !r.keeps() {
		f.close()
		return found{}
	}
	return f
}

// give sends the sender the kept findings of its side. The sender decides whether they count; without them it
// reads everything.
func (r *Receiver) give(ctx context.Context, file *os.File) error {
	err := r.call(ctx, func(ctx context.Context, c *conn) error {
		said, err := r.giveOn(ctx, c, file)
		if err == nil && said.Status != wire.OK {
			r.options.Log.Warn("the sender reads all: it cannot use the previous index", "why", said.Problem)
		}
		return err
	})
	if again(err) {
		return err
	}
	r.options.Log.Warn("the sender reads all: the previous index is unavailable", "why", r.note(err))
	return nil
}

func (r *Receiver) giveOn(ctx context.Context, c *conn, file *os.File) (wire.End, error) {
	var payload []byte
	end := int64(0)
	err := chunks(file, make([]byte, wire.MaxData), func(offset int64, data []byte) error {
		r.advance()
		end = offset + int64(len(data))
		payload = append(wire.AppendData(payload[:0], offset), data...)
		return c.send(ctx, wire.TypeKnown, payload)
	})
	if err == nil {
		err = c.reply(ctx, wire.TypeKnown, wire.AppendData(payload[:0], end))
	}
	if err != nil {
		return wire.End{}, err
	}
	f, err := c.receive(c.silence)
	if err != nil {
		return wire.End{}, err
	}
	return readEnd(f)
}

func readEnd(f wire.Frame) (wire.End, error) {
	if f.Type != wire.TypeEnd {
		return wire.End{}, wire.Unexpected(f)
	}
	end, err := wire.ReadEnd(f.Payload)
	if err != nil {
		return end, fatal{err}
	}
	return end, nil
}

// begin returns a file for the findings of the destination; nil if nothing is kept.
func (r *Receiver) begin() *os.File {
	if r.options.Settled || r.options.Tree == nil || r.options.Copy == "" || r.options.Verify != VerifyChanged && !r.keeps() {
		return nil
	}
	file, err := r.options.Tree.Unnamed()
	if err != nil {
		r.options.Log.Info("the index of this pass is not kept", "why", r.note(err))
		return nil
	}
	return file
}

// keep stores the findings of the two sides at the destination, and reports whether they are there.
func (r *Receiver) keep(ctx context.Context, own *os.File) bool {
	peer, err := r.options.Tree.Unnamed()
	if err == nil {
		defer func() { _ = peer.Close() }()
		err = r.call(ctx, func(ctx context.Context, c *conn) error { return r.fetch(ctx, c, peer) })
	}
	if err == nil {
		err = peer.Sync()
	}
	ownName, peerName := names(r.options.Copy)
	if err == nil {
		err = r.options.Tree.Keep(peer, peerName)
	}
	if err == nil {
		err = r.options.Tree.Keep(own, ownName)
	}
	if r.note(err) != nil {
		r.options.Log.Warn("the index of this pass is not kept for the last pass", "why", err)
	}
	return err == nil
}

// keepBoth stores the findings of this side and the files of the source, and reports whether both are there.
func (r *Receiver) keepBoth(own *os.File) bool {
	ownName, peerName := names(r.options.Copy)
	peer, err := r.sources.commit()
	if err == nil && peer != nil {
		err = r.options.Tree.Keep(peer, peerName)
	}
	if err == nil {
		err = r.options.Tree.Keep(own, ownName)
	}
	if r.note(err) != nil {
		r.options.Log.Warn("the index of this pass is not kept for the next one", "why", err)
	}
	return err == nil && peer != nil
}

// fetch fetches the findings of the sender's side.
func (r *Receiver) fetch(ctx context.Context, c *conn, to *os.File) error {
	if err := c.reply(ctx, wire.TypeRecord, nil); err != nil {
		return err
	}
	if err := to.Truncate(0); err != nil {
		return fatal{err}
	}
	for next := int64(0); ; {
		f, err := c.receive(c.silence)
		if err != nil {
			return err
		}
		if f.Type != wire.TypeData {
			said, err := readEnd(f)
			if err == nil && said.Status != wire.OK {
				err = fatal{fmt.Errorf("the sender has kept no index %s", said.Problem)}
			}
			return err
		}
		offset, data, err := wire.ReadData(f.Payload)
		if err != nil || offset != next || offset > tree.MaxIndex {
			return fatal{errors.Join(err, fmt.Errorf("the index of the sender arrives out of order: %d bytes at %d, not at %d", len(data), offset, next))}
		}
		if _, err := to.WriteAt(data, offset); err != nil {
			return fatal{err}
		}
		next += int64(len(data))
		r.advance()
	}
}
