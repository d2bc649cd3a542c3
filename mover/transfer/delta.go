package transfer

import (
	"bytes"
	"context"

	"golang.org/x/sync/errgroup"

	"github.com/sliceshift/sliceshift/mover/entry"
	"github.com/sliceshift/sliceshift/mover/tree"
	"github.com/sliceshift/sliceshift/mover/wire"
)

// Changes returns the ranges of a file of the source, or of its device, that have changed since the pass before, where
// the storage keeps track of them, as a CSI driver with the service SnapshotMetadata does. If known is false it does
// not, and the sender reads all of the file to find them.
type Changes func(e *entry.Entry) (ranges []wire.Extent, known bool)

// delta requests the parts of a file that differ from those that the receiver has. Which these are, the sender finds by
// their digests, so the receiver reads nothing else of its own file.
func (r *Receiver) delta(ctx context.Context, jobs chan<- job, f *large) error {
	if r.options.Changes != nil {
		if ranges, known := r.options.Changes(f.entry); known {
			for _, each := range ranges {
				f.parts.change(each.Offset, each.Length)
			}
			return f.askChanged(ctx, jobs, 0, f.entry.Size, func(leaf int64) bool { return f.parts.changed[leaf].Load() })
		}
	}
	ready, done := make(chan int64, 2), make(chan struct{})
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error {
		defer close(ready)
		return r.prepare(ctx, f, ready, done)
	})
	group.Go(func() error {
		defer close(done)
		at, end := int64(0), int64(0)
		return r.call(ctx, func(ctx context.Context, c *conn) error {
			for at < f.entry.Size && !f.gone.Load() {
				if at == end {
					next, more := <-ready
					if !more {
						return ctx.Err() // its digests cannot be read
					}
					end = next
				}
				if err := r.stretch(ctx, c, f, jobs, at, end); err != nil {
					return err
				}
				at = end
			}
			return nil
		})
	})
	return group.Wait()
}

// stretched is how much of a file is asked about at once.
const stretched = wire.MaxParts * wire.Part

// prepare passes the end of each stretch whose digests are there. Those of a device are read first: nothing can be kept
// on it between two passes, and reading it here is all that is read of what is not written.
func (r *Receiver) prepare(ctx context.Context, f *large, ready chan<- int64, done <-chan struct{}) error {
	hasher := tree.NewHasher(nil)
	for at := int64(0); at < f.entry.Size; {
		end := min(at+stretched, f.entry.Size)
		if r.options.Device != nil {
			leaves, read, err := hasher.Leaves(ctx, f.file, at, end, f.entry.Size)
			r.Counts.Verified.Add(read)
			if err != nil {
				return fatal{r.note(err)}
			}
			copy(f.parts.digests[at/tree.Leaf*tree.DigestSize:], leaves)
		}
		select {
		case ready <- end:
		case <-done:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
		at = end
	}
	return nil
}

// stretch asks which parts of a stretch differ, and requests these.
func (r *Receiver) stretch(ctx context.Context, c *conn, f *large, jobs chan<- job, at, end int64) error {
	first := at / tree.Leaf
	m := wire.Parts{Wanted: wanted(f.entry), Offset: at, Sums: f.parts.digests[first*tree.DigestSize : tree.Leaves(end)*tree.DigestSize]}
	if err := c.reply(ctx, wire.TypeParts, m.Append(nil)); err != nil {
		return err
	}
	answer, err := c.receive(c.silence)
	if err != nil {
		return err
	}
	if answer.Type != wire.TypeDiffer {
		said, err := readEnd(answer)
		if err != nil {
			return err
		}
		if said.Status == wire.OK {
			return wire.Unexpected(answer)
		}
		return r.left(f, said)
	}
	differ, err := wire.ReadDiffer(answer.Payload, m.Count())
	if err != nil {
		return fatal{err}
	}
	r.advance()
	if err := r.left(f, wire.End{Status: differ.Status}); err != nil {
		return err
	}
	return f.askChanged(ctx, jobs, at, end, func(leaf int64) bool { return differ.Differs(leaf-first) || f.parts.changed[leaf].Load() })
}

// askChanged requests the parts of a stretch that have changed, adjacent ones together.
func (f *large) askChanged(ctx context.Context, jobs chan<- job, at, end int64, changed func(leaf int64) bool) error {
	for at < end {
		begin, is := at, changed(at/tree.Leaf)
		for at < end && changed(at/tree.Leaf) == is {
			at = min(at+tree.Leaf, end)
		}
		if !is {
			f.same(at - begin)
			continue
		}
		if err := f.ask(ctx, jobs, wire.Extent{Offset: begin, Length: at - begin}, true); err != nil {
			return fatal{err}
		}
	}
	return nil
}

// differing answers which parts of a file differ from the receiver's.
func (a *answer) differing(ctx context.Context, m wire.Parts) error {
	if err := a.use(m.Wanted); err != nil {
		return a.end(ctx, err, 0)
	}
	if a.hasher == nil {
		a.hasher = tree.NewHasher(func(ctx context.Context, n int) error { return wait(ctx, a.sender.options.ReadRate, n) })
	}
	leaves, read, err := a.hasher.Leaves(ctx, a.content, m.Offset, m.End(), m.Size)
	a.sender.Read.Add(read)
	if err != nil {
		return a.end(ctx, err, 0)
	}
	found := wire.Differ{Parts: make([]byte, (m.Count()+7)/8)}
	for i := range m.Count() {
		at := i * wire.DigestSize
		if !bytes.Equal(leaves[at:][:wire.DigestSize], m.Sums[at:][:wire.DigestSize]) {
			found.Parts[i/8] |= 1 << (i % 8)
		}
	}
	if found.Status, err = unchanged(a.content, m.Wanted); err != nil {
		return a.end(ctx, err, 0)
	}
	return a.conn.reply(ctx, wire.TypeDiffer, found.Append(nil))
}
