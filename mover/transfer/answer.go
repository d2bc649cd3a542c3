package transfer

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/zeebo/blake3"

	"github.com/sliceshift/sliceshift/mover/codec"
	"github.com/sliceshift/sliceshift/mover/entry"
	"github.com/sliceshift/sliceshift/mover/tree"
	"github.com/sliceshift/sliceshift/mover/wire"
)

// answer answers the requests of one connection.
type answer struct {
	sender *Sender
	conn   *conn
	reader tree.Reader
	// The file of the last request stays open, because its ranges follow one another.
	path    string
	content tree.Content
	buffer  []byte
	payload []byte
	hasher  *tree.Hasher // for parts
}

func (a *answer) close() {
	a.leave()
	a.reader.Close()
}

func (a *answer) leave() {
	if a.content != nil {
		if a.sender.options.Forget {
			a.content.Drop()
		}
		_ = a.content.Close()
		a.content = nil
	}
}

// one answers one request. An error ends the connection.
func (a *answer) one(ctx context.Context, f wire.Frame) error {
	switch f.Type {
	case wire.TypeList:
		m, err := wire.ReadList(f.Payload)
		if err != nil {
			return err
		}
		return a.list(ctx, m)
	case wire.TypeFiles:
		files, err := wire.ReadFiles(f.Payload)
		if err != nil {
			return err
		}
		return a.files(ctx, files)
	case wire.TypeRange:
		m, err := wire.ReadRange(f.Payload)
		if err != nil {
			return err
		}
		return a.ranged(ctx, m)
	case wire.TypeMap:
		m, err := wire.ReadMap(f.Payload)
		if err != nil {
			return err
		}
		return a.extents(ctx, m)
	case wire.TypeParts:
		m, err := wire.ReadParts(f.Payload)
		if err != nil {
			return err
		}
		return a.differing(ctx, m)
	case wire.TypeKnown:
		return a.given(ctx, f.Payload)
	case wire.TypeRecord:
		return a.record(ctx)
	case wire.TypeDone:
		m, err := wire.ReadDone(f.Payload)
		if err != nil {
			return err
		}
		err = a.conn.reply(ctx, wire.TypeDone, m.Append(nil))
		a.sender.finish(m)
		return err
	default:
		return fmt.Errorf("%w: a request of type %d", codec.ErrMalformed, f.Type)
	}
}

// list sends a stream until the receiver has acknowledged all of it.
func (a *answer) list(ctx context.Context, m wire.List) error {
	st, err := a.sender.attach(ctx, m)
	if err != nil {
		return a.conn.reply(ctx, wire.TypeError, appendText(err.Error()))
	}
	acks := make(chan error, 1)
	go func() { acks <- a.acks(st) }()
	err = a.tell(ctx, st, m.After)
	if err != nil {
		_ = a.conn.net.Close() // so that acks ends
	}
	return errors.Join(err, <-acks)
}

func (a *answer) acks(st *stream) error {
	for {
		f, err := a.conn.receive(0)
		if err != nil {
			return err
		}
		if f.Type != wire.TypeAck {
			return wire.Unexpected(f)
		}
		count, err := wire.ReadAck(f.Payload)
		if err != nil {
			return err
		}
		if count == wire.Whole {
			return nil
		}
		st.ack(count)
	}
}

func (a *answer) tell(ctx context.Context, st *stream, next uint64) error {
	const full = 64 << 10 // bytes of a frame
	// A frame for each entry would cost more than the entry. A few milliseconds later there are hundreds.
	const pause = 2 * time.Millisecond
	quiet := time.NewTicker(alive)
	defer quiet.Stop()
	var room []*entry.Entry
	for {
		entries, ended, changed, err := st.from(next, room)
		if err != nil {
			return a.conn.reply(ctx, wire.TypeError, appendText(err.Error()))
		}
		if ended {
			return a.conn.reply(ctx, wire.TypeListEnd, st.end.Append(nil))
		}
		if len(entries) == 0 {
			select {
			case <-changed:
				time.Sleep(pause)
			case <-quiet.C:
				if err := a.conn.reply(ctx, wire.TypeAlive, nil); err != nil {
					return err
				}
			case <-ctx.Done():
				return ctx.Err()
			}
			continue
		}
		room = entries
		for len(entries) > 0 {
			a.payload = wire.AppendEntries(a.payload[:0], next)
			for len(entries) > 0 && len(a.payload) < full {
				a.payload = entry.Append(a.payload, entries[0])
				entries, next = entries[1:], next+1
			}
			if err := a.conn.send(ctx, wire.TypeEntries, a.payload); err != nil {
				return err
			}
		}
		if err := a.conn.flush(); err != nil {
			return err
		}
	}
}

// files answers with the content of several small files, several to a frame.
func (a *answer) files(ctx context.Context, files []wire.Wanted) error {
	a.leave()
	a.payload = a.payload[:0]
	small, bytes := make([]tree.Small, len(files)), 0
	for i, f := range files {
		small[i] = tree.Small{Path: f.Path, Size: f.Size}
		bytes += int(f.Size)
	}
	if err := wait(ctx, a.sender.options.ReadRate, bytes); err != nil {
		return err
	}
	next := 0
	err := a.reader.Small(small, func(f *tree.Small) error {
		m := contentOf(files[next], f)
		m.Index = uint64(next)
		next++
		if a.sender.options.Forget {
			f.Drop()
		}
		if len(a.payload) > 0 && len(a.payload)+len(m.Data)+len(m.Problem) > wire.MaxData {
			if err := a.conn.send(ctx, wire.TypeFile, a.payload); err != nil {
				return err
			}
			a.payload = a.payload[:0]
		}
		a.payload = m.Append(a.payload)
		return nil
	})
	if err != nil {
		return err
	}
	if len(a.payload) > 0 {
		if err := a.conn.send(ctx, wire.TypeFile, a.payload); err != nil {
			return err
		}
	}
	return a.conn.reply(ctx, wire.TypeEnd, wire.End{}.Append(nil))
}

// contentOf returns the answer for a file that was read. A read error is one even if some data were read before it.
func contentOf(wanted wire.Wanted, f *tree.Small) wire.Content {
	if f.Err != nil {
		return failed(f.Err)
	}
	return wire.Content{Status: compare(&f.Now, wanted), Data: f.Data}
}

func (a *answer) room(n int) []byte {
	if cap(a.buffer) < wire.MaxData {
		a.buffer = tree.Aligned(wire.MaxData)
	}
	return a.buffer[:n]
}

// unchanged compares a file with its entry in the list.
func unchanged(content tree.Content, f wire.Wanted) (wire.Status, error) {
	now, err := content.Stat()
	if err != nil {
		return wire.Failed, err
	}
	return compare(&now, f), nil
}

func compare(now *entry.Entry, f wire.Wanted) wire.Status {
	if now.Size != f.Size || now.Modified != f.Modified {
		return wire.Changed
	}
	return wire.OK
}

func failed(err error) wire.Content {
	if tree.Gone(err) || errors.Is(err, tree.ErrChanged) {
		return wire.Content{Status: wire.Vanished}
	}
	return wire.Content{Status: wire.Failed, Problem: err.Error()}
}

// use makes a file the open one.
func (a *answer) use(f wire.Wanted) error {
	if a.content != nil && a.path == f.Path {
		return nil
	}
	a.leave()
	content, err := a.reader.Open(f.Path)
	if err == nil {
		a.path, a.content = f.Path, content
	}
	return err
}

func (a *answer) end(ctx context.Context, err error, status wire.Status) error {
	end := wire.End{Status: status}
	if err != nil {
		f := failed(err)
		end.Status, end.Problem = f.Status, f.Problem
		a.leave()
	}
	return a.conn.reply(ctx, wire.TypeEnd, end.Append(nil))
}

// ranged answers with a part of a file, or with the blocks of it that differ from the receiver's digests.
func (a *answer) ranged(ctx context.Context, m wire.Range) error {
	if err := a.use(m.Wanted); err != nil {
		return a.end(ctx, err, 0)
	}
	a.content.Prefetch(m.Offset, m.Length)
	for at, stop := m.Offset, m.Offset+m.Length; at < stop; {
		n := min(wire.MaxData, stop-at)
		data := a.room(int(n))
		if err := wait(ctx, a.sender.options.ReadRate, len(data)); err != nil {
			return err
		}
		got, err := a.content.ReadAt(data, at)
		if got < len(data) && err != nil && !isEnd(err) {
			return a.end(ctx, fmt.Errorf("reading %q at %d: %w", m.Path, at, err), 0)
		}
		data = data[:got]
		var sums []byte
		if len(m.Sums) > 0 {
			sums = m.Sums[(at-m.Offset)/wire.Block*wire.SumSize:]
		}
		if err := a.blocks(ctx, at, data, sums); err != nil {
			return err
		}
		if int64(got) < n {
			return a.end(ctx, nil, wire.Changed)
		}
		at += n
	}
	status, err := unchanged(a.content, m.Wanted)
	return a.end(ctx, err, status)
}

// blocks sends the blocks of data that the receiver does not have, adjacent ones together.
func (a *answer) blocks(ctx context.Context, at int64, data, sums []byte) error {
	begin := -1
	flush := func(end int) error {
		if begin < 0 {
			return nil
		}
		a.payload = append(wire.AppendData(a.payload[:0], at+int64(begin)), data[begin:end]...)
		begin = -1
		return a.conn.send(ctx, wire.TypeData, a.payload)
	}
	for i := 0; i < len(data); i += wire.Block {
		block := data[i:min(i+wire.Block, len(data))]
		same := false
		if len(sums) > 0 {
			own := blake3.Sum256(block)
			same = string(own[:wire.SumSize]) == string(sums[i/wire.Block*wire.SumSize:][:wire.SumSize])
		}
		if same {
			if err := flush(i); err != nil {
				return err
			}
		} else if begin < 0 {
			begin = i
		}
	}
	return flush(len(data))
}

// extents answers with the parts of a file that are not holes.
func (a *answer) extents(ctx context.Context, m wire.Map) error {
	if err := a.use(m.Wanted); err != nil {
		return a.end(ctx, err, 0)
	}
	var found wire.Extents
	for at := m.Offset; at < m.Size && at < math.MaxInt64; {
		start, end, err := a.content.NextData(at, m.Size)
		if err != nil {
			return a.end(ctx, err, 0)
		}
		if start >= m.Size || end <= start {
			break
		}
		if len(found.List) == wire.MaxExtents {
			found.More = true
			break
		}
		found.List = append(found.List, wire.Extent{Offset: start, Length: end - start})
		at = end
	}
	return a.conn.reply(ctx, wire.TypeExtents, found.Append(nil))
}
