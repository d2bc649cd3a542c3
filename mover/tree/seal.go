package tree

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"sync/atomic"

	"github.com/zeebo/blake3"
	"golang.org/x/sync/errgroup"

	"github.com/sliceshift/sliceshift/mover/differ"
	"github.com/sliceshift/sliceshift/mover/entry"
)

// ListOptions configure how a tree is listed.
type ListOptions struct {
	// Digest is true if contents are read, past the system's cache.
	Digest bool
	// Settled is true if an entry that vanishes or changes while it is read is an error. Otherwise it is left
	// out, or has no digest, and is counted.
	Settled bool
	// Known provides the records of an earlier reading that holds for this one, in order; nil if there are
	// none.
	Known *Index
	// Record takes the records of this reading.
	Record *IndexWriter
	// Parts makes Record keep the digests of the leaves of each file too. Nothing but this program writes to the tree:
	// then a file that has not changed since its record is known however recently it had changed before (differ.Same).
	Parts bool
	// Written returns what is known about the leaves of a file that was written since its record; nil if nothing is.
	// A nil function knows nothing.
	Written func(path string) *Parts
	// Tally, if it is set, gets all parts. It is for a list that is Settled.
	Tally *Tally
	// Synced is the start time of the sync before this list.
	Synced entry.Time
	// Throttle limits the read rate.
	Throttle Throttle
	// Progress, if it is set, grows by the bytes that were read.
	Progress *atomic.Int64
}

// Source can be listed and read: a tree, or a device.
type Source interface {
	List(ctx context.Context, options ListOptions, emit func(*entry.Entry) error) (Listed, error)
	NewReader() Reader
}

// Reader reads contents, for one goroutine.
type Reader interface {
	Open(path string) (Content, error)
	// Small reads small files whole, and calls done with each of them, in their order. An error of done ends it.
	Small(files []Small, done func(*Small) error) error
	Close()
}

// Listed is the result of a list.
type Listed struct {
	entry.Totals
	// Root is the digest of all rows, if contents were read.
	Root [32]byte
}

// List passes all entries in order to emit, with hard links resolved. emit may keep its entries.
func (t *Tree) List(ctx context.Context, options ListOptions, emit func(*entry.Entry) error) (Listed, error) {
	l := lister{tree: t, options: options, handles: t.Cursor(), hasher: NewHasher(options.Throttle), links: NewLinks(), root: blake3.New(), emit: emit}
	group, ctx := errgroup.WithContext(ctx)
	const ahead = 2 * window // entries whose content is being read
	queue := make(chan *reading, ahead)
	work := make(chan *reading, ahead)
	runs := make(chan []*reading)
	group.Go(func() error {
		defer close(queue)
		defer close(work)
		return l.walk(ctx, queue, work)
	})
	group.Go(func() error { return gather(ctx, work, runs) })
	for range readers {
		group.Go(func() error { return l.readRuns(ctx, runs) })
	}
	group.Go(func() error { return l.collect(ctx, queue) })
	err := group.Wait()
	l.totals.Unsettled += l.missed
	l.totals.Trusted = l.trusted
	if err != nil {
		return Listed{Totals: l.totals}, err
	}
	return Listed{Totals: l.totals, Root: sum(l.root)}, nil
}

// reading is an entry while it passes through a list.
type reading struct {
	entry  *entry.Entry
	done   chan struct{} // nil: there is nothing to read
	digest [32]byte
	read   int64
	// leaves are the digests of its leaves, if they are kept; size is their number of bytes that room was taken for.
	leaves []byte
	size   int64
	handle string
	synced entry.Time // the sync time of its digest
	err    error
}

type lister struct {
	tree    *Tree
	options ListOptions
	handles *Cursor // for the walk
	hasher  *Hasher
	links   *Links
	root    *blake3.Hasher
	row     []byte
	totals  entry.Totals
	missed  uint64 // of the walk, like trusted
	trusted uint64
	parts   partsRoom
	emit    func(*entry.Entry) error
}

func (l *lister) walk(ctx context.Context, queue, work chan<- *reading) error {
	walk := l.tree.Walk("")
	defer walk.Close()
	defer l.handles.Close()
	defer func() { l.missed = walk.Vanished }()
	for {
		e, err := walk.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		if err := l.links.Resolve(e); err != nil {
			return err
		}
		r := &reading{entry: e, synced: l.options.Synced}
		if err := l.prepare(r); err != nil {
			return err
		}
		for _, to := range []chan<- *reading{queue, work} {
			if r.done == nil && to == work {
				continue
			}
			select {
			case to <- r:
			case <-ctx.Done():
				return ctx.Err()
			}
		}
	}
	if l.options.Settled && walk.Vanished > 0 {
		return fmt.Errorf("%d entries of %s vanished while it was listed: another process writes there; find what mounts the volume", walk.Vanished, l.tree.name)
	}
	return nil
}

// prepare decides whether a content must be read. A file that has not changed since its record is not.
func (l *lister) prepare(r *reading) error {
	e := r.entry
	if !l.options.Digest || e.Kind != entry.File {
		return nil
	}
	if l.options.Known != nil || l.options.Record != nil {
		r.handle = l.handles.Handle(e.Path)
	}
	if l.options.Known != nil {
		record, err := l.options.Known.Find(e.Path)
		if err != nil {
			return err
		}
		if record != nil && l.trusts(e, r.handle, record) {
			if e.Digest, r.synced = record.Digest, record.Synced; len(record.Parts) > 0 && l.keeps(r) {
				r.leaves = record.Parts
			}
			l.trusted += occupied(e)
			l.tally(e, record.Parts)
			return nil
		}
	}
	r.done = make(chan struct{})
	return nil
}

func (l *lister) read(ctx context.Context, cursor *Cursor, r *reading) (digest [32]byte, read int64, err error) {
	e := r.entry
	content, err := cursor.openPastCache(e.Path)
	if err != nil {
		return digest, 0, err
	}
	defer func() { err = errors.Join(err, content.Close()) }()
	digest, read, err = l.hasher.DigestParts(ctx, content, e.Size, l.partsOf(r))
	if l.options.Progress != nil {
		l.options.Progress.Add(read)
	}
	if err != nil {
		return digest, read, err
	}
	now, err := content.Stat()
	if err == nil && !sameState(e, &now) {
		err = ErrChanged
	}
	if err == nil && Leaves(e.Size) <= 1 {
		l.tallyContent(e.Path, digest)
	}
	return digest, read, err
}

// collect takes the entries in order, each once its content was read.
func (l *lister) collect(ctx context.Context, queue <-chan *reading) error {
	for r := range queue {
		if r.done != nil {
			select {
			case <-r.done:
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		if err := l.add(r); err != nil {
			return err
		}
	}
	return nil
}

func (l *lister) add(r *reading) error {
	e := r.entry
	l.totals.Read += uint64(r.read)
	if r.done != nil {
		e.Digest = r.digest
	}
	if r.err != nil {
		moving := errors.Is(r.err, ErrChanged) || Gone(r.err)
		if l.options.Settled && moving {
			return fmt.Errorf("%s/%s: %w: another process writes there; find what mounts the volume", l.tree.name, e.Path, r.err)
		}
		if !moving {
			return fmt.Errorf("reading %s/%s: %w", l.tree.name, e.Path, r.err)
		}
		e.Digest = [32]byte{}
		l.totals.Unsettled++
	}
	l.totals.Count(e)
	if l.options.Digest {
		l.row = entry.AppendRow(l.row[:0], e)
		Roll(l.root, l.row)
		l.tallyEntry(e)
		if l.options.Record != nil && e.Kind == entry.File && r.err == nil {
			l.record(r)
		}
	}
	l.parts.leave(r)
	return l.emit(e)
}

// record adds the record of a file whose content is known.
func (l *lister) record(r *reading) {
	record := differ.RecordOf(r.entry, r.handle, r.synced)
	if l.options.Parts {
		record.Parts = r.leaves
	}
	l.options.Record.Add(record)
	if l.options.Parts && l.keepsParts(r) || !l.options.Parts && record.Settled() {
		l.totals.Known += occupied(r.entry)
	} else {
		l.totals.Young += occupied(r.entry)
	}
}

// occupied returns how many bytes of a file are not holes, judged by its number of blocks.
func occupied(e *entry.Entry) uint64 { return uint64(min(e.Size, e.Allocated)) }

// Roll adds a row to the root of a list.
func Roll(root *blake3.Hasher, row []byte) {
	var length [8]byte
	binary.BigEndian.PutUint64(length[:], uint64(len(row)))
	_, _ = root.Write(length[:])
	_, _ = root.Write(row)
}
