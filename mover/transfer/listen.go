package transfer

import (
	"context"
	"errors"
	"fmt"

	"github.com/sliceshift/sliceshift/mover/codec"
	"github.com/sliceshift/sliceshift/mover/entry"
	"github.com/sliceshift/sliceshift/mover/tree"
	"github.com/sliceshift/sliceshift/mover/wire"
)

// peerList is the sender's list as it arrives, over any number of connections.
type peerList struct {
	receiver *Receiver
	request  wire.List
	entries  chan *entry.Entry
	result   tree.Listed
	last     string
	acked    uint64
}

// listPeer prepares a list; run fills it.
func (r *Receiver) listPeer(digest bool) *peerList {
	const ahead = 256
	return &peerList{
		receiver: r, entries: make(chan *entry.Entry, ahead),
		request: wire.List{Stream: r.streams.Add(1), Digest: digest, Settled: r.options.Settled, Known: r.options.Verify == VerifyChanged, Synced: r.keeps() && !r.options.Settled},
	}
}

// run receives the list to its end. Only then is entries closed, so a truncated list never looks complete.
func (l *peerList) run(ctx context.Context) error {
	err := l.receiver.call(ctx, l.once)
	if err == nil {
		close(l.entries)
	}
	return err
}

// next returns the next entry, or nil at the end.
func (l *peerList) next(ctx context.Context) (*entry.Entry, error) {
	select {
	case e := <-l.entries:
		return e, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// once receives as much of the list as one connection delivers.
func (l *peerList) once(ctx context.Context, c *conn) error {
	if err := c.reply(ctx, wire.TypeList, l.request.Append(nil)); err != nil {
		return err
	}
	for {
		f, err := c.receive(c.silence)
		if err != nil {
			return err
		}
		switch f.Type {
		case wire.TypeEntries:
			if err := l.take(ctx, c, f.Payload); err != nil {
				return err
			}
		case wire.TypeListEnd:
			if err := l.end(f.Payload); err != nil {
				return err
			}
			return c.reply(ctx, wire.TypeAck, wire.AppendAck(nil, wire.Whole))
		case wire.TypeError:
			return fatal{wire.Unexpected(f)}
		default:
			return wire.Unexpected(f)
		}
	}
}

func (l *peerList) take(ctx context.Context, c *conn, payload []byte) error {
	const every = 1024 // entries between two acknowledgements
	first, entries, err := wire.ReadEntries(payload)
	if err != nil {
		return fatal{err}
	}
	if first != l.request.After {
		return fatal{fmt.Errorf("%w: entry %d of a list where %d is next", codec.ErrMalformed, first, l.request.After)}
	}
	for i := range entries {
		e := &entries[i]
		if err := l.inOrder(e); err != nil {
			return fatal{err}
		}
		select {
		case l.entries <- e:
		case <-ctx.Done():
			return ctx.Err()
		}
		l.request.After++
		l.receiver.advance()
	}
	if l.request.After-l.acked < every {
		return nil
	}
	l.acked = l.request.After
	return c.reply(ctx, wire.TypeAck, wire.AppendAck(nil, l.acked))
}

// inOrder refuses an invalid list: the root must come first, and each path once.
func (l *peerList) inOrder(e *entry.Entry) error {
	switch {
	case l.request.After == 0 && e.Path != "":
		return fmt.Errorf("%w: a list that begins with %.200q", codec.ErrMalformed, e.Path)
	case l.request.After > 0 && entry.Compare(e.Path, l.last) <= 0:
		return fmt.Errorf("%w: %.200q after %.200q in a list", codec.ErrMalformed, e.Path, l.last)
	case (e.Kind == entry.Device) != (l.receiver.options.Device != nil), e.Path == "" && e.Kind != entry.Directory && e.Kind != entry.Device:
		return fmt.Errorf("%w: %.200q is a %s", codec.ErrMalformed, e.Path, e.Kind)
	}
	l.last = e.Path
	return nil
}

func (l *peerList) end(payload []byte) error {
	end, err := wire.ReadListEnd(payload)
	if err != nil {
		return fatal{err}
	}
	if end.Problem != "" {
		return fatal{&remote{path: "", problem: end.Problem}}
	}
	if l.request.After == 0 || end.Entries != l.request.After {
		return fatal{fmt.Errorf("%w: a list of %d entries that ends after %d", codec.ErrMalformed, end.Entries, l.request.After)}
	}
	l.result = tree.Listed{Totals: end.Totals, Root: end.Root}
	return nil
}

// errLeft returns the error of a last pass in which a file has changed or vanished.
func errLeft(path string, status wire.Status) error {
	what := "changed while it was copied"
	if status == wire.Vanished {
		what = "vanished while it was copied"
	}
	return fmt.Errorf("%q %s, and nothing may write at the source in the last pass: find what mounts the volume there", path, what)
}

// Errors of the list of a device.
var (
	errNoDevice = errors.New("the source is no device")
	errMore     = errors.New("the list continues after a device")
)
