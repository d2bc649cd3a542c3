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

// What a warm pass has read lies in the root of the destination until the next pass begins, that of either side in a file
// of its own. There it is of this very volume, goes with it, and is no more than another file that the source has not: a
// pass removes it, and a proof that finds both sides equal has not found it. Who has opened it before still reads it, and
// gives the sender what is its own.

// kept is what a sender has for its receiver, and from it, in files that no folder has.
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

// scratch is a file that goes when it is closed.
func scratch(folder string) (*os.File, error) {
	if folder == "" {
		return nil, errors.New("this sender was given no folder for what was read before")
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

// put takes a part of what the receiver has kept. No data is the end of it. What goes wrong is what the end says.
func (k *kept) put(folder string, offset int64, data []byte) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(data) == 0 {
		if k.trouble == nil && (k.given == nil || offset != k.size) {
			k.trouble = errors.New("a part of what was read before is missing")
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
		k.trouble = errors.New("what was read before does not arrive in order, or is too much")
	}
	if k.trouble == nil {
		_, k.trouble = k.given.WriteAt(data, offset)
		k.size += int64(len(data))
	}
	return nil
}

// known is what the receiver has given; nil: nothing, or not all of it.
func (k *kept) known() *os.File {
	k.mu.Lock()
	defer k.mu.Unlock()
	if !k.whole {
		return nil
	}
	return k.given
}

// finish puts a file there that has all that was read.
func (k *kept) finish(file *os.File) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.finished != nil {
		_ = k.finished.Close()
	}
	k.finished = file
}

// given takes a part of what the receiver has kept for this side.
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

// record answers with what was read of this side.
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

// chunks gives a file to send in parts.
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

// names are those of what is kept of both sides in the root of the destination.
func names(of string) (own, peer string) {
	return ".sliceshift-" + of + "-receiver", ".sliceshift-" + of + "-sender"
}

// found is what the pass before has kept.
type found struct{ own, peer *os.File }

func (f found) close() {
	for _, file := range []*os.File{f.own, f.peer} {
		if file != nil {
			_ = file.Close()
		}
	}
}

// find opens what the pass before has kept, if that is all there.
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
		r.options.Log.Warn("all is read: what was read before cannot be had", "why", err)
	}
	if err != nil || f.own == nil || f.peer == nil {
		f.close()
		return found{}
	}
	return f
}

// give gives the sender what was kept of its side. What that is good for is for the sender to say: where it has nothing it reads all.
func (r *Receiver) give(ctx context.Context, file *os.File) error {
	err := r.call(ctx, func(ctx context.Context, c *conn) error {
		said, err := r.giveOn(ctx, c, file)
		if err == nil && said.Status != wire.OK {
			r.options.Log.Warn("the sender reads all: it cannot have what was read before", "why", said.Problem)
		}
		return err
	})
	if again(err) {
		return err
	}
	r.options.Log.Warn("the sender reads all: what was read before cannot be had", "why", r.note(err))
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

// begin is a file for what is read of the destination; nil: nothing is kept.
func (r *Receiver) begin() *os.File {
	if r.options.Settled || r.options.Tree == nil || r.options.Copy == "" || r.options.Verify != VerifyChanged {
		return nil
	}
	file, err := r.options.Tree.Unnamed()
	if err != nil {
		r.options.Log.Info("what is read is not kept", "why", r.note(err))
		return nil
	}
	return file
}

// keep puts what was read of both sides on the destination, and says whether it is there.
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
		r.options.Log.Warn("what was read is not kept for the last pass", "why", err)
	}
	return err == nil
}

// fetch fetches what was read of the sender's side.
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
				err = fatal{fmt.Errorf("the sender has kept nothing %s", said.Problem)}
			}
			return err
		}
		offset, data, err := wire.ReadData(f.Payload)
		if err != nil || offset != next || offset > tree.MaxIndex {
			return fatal{errors.Join(err, fmt.Errorf("what the sender has read does not arrive in order: %d bytes at %d, not at %d", len(data), offset, next))}
		}
		if _, err := to.WriteAt(data, offset); err != nil {
			return fatal{err}
		}
		next += int64(len(data))
		r.advance()
	}
}
