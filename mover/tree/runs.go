package tree

import (
	"cmp"
	"context"
	"slices"

	"github.com/zeebo/blake3"

	"github.com/sliceshift/sliceshift/mover/entry"
)

// window is how many files are put into the order of their inodes, before they are read. On the disk, small files are
// mostly in that order, which need not be that of their names.
const window = 1024

// inRuns reports whether a content is read together with others. Holes of larger files are not read.
func inRuns(r *reading) bool { return r.entry.Size <= smallBuffer }

// gather passes the files that wait to be read on in runs: small ones together, in the order of their inodes, and each
// large one alone. It never waits for a file that has not been listed, so runs are long only while reading is slower
// than listing.
func gather(ctx context.Context, work <-chan *reading, runs chan<- []*reading) error {
	defer close(runs)
	pass := func(run []*reading) error {
		select {
		case runs <- run:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	for first := range work {
		var small []*reading
		for _, r := range waiting(first, work) {
			if inRuns(r) {
				small = append(small, r)
			} else if err := pass([]*reading{r}); err != nil {
				return err
			}
		}
		slices.SortStableFunc(small, func(a, b *reading) int { return cmp.Compare(a.entry.Inode.Ino, b.entry.Inode.Ino) })
		for run := range cut(small) {
			if err := pass(run); err != nil {
				return err
			}
		}
	}
	return nil
}

// waiting returns a file and those that wait behind it, at most a window.
func waiting(first *reading, work <-chan *reading) []*reading {
	found := []*reading{first}
	for len(found) < window {
		select {
		case r, more := <-work:
			if !more {
				return found
			}
			found = append(found, r)
		default:
			return found
		}
	}
	return found
}

// cut cuts files into runs that are read at once.
func cut(files []*reading) func(yield func([]*reading) bool) {
	return func(yield func([]*reading) bool) {
		begin, room := 0, 0
		for i, r := range files {
			need := sectors(r.entry.Size)
			if i-begin == bulkFiles || room+need > bulkBytes {
				if !yield(files[begin:i]) {
					return
				}
				begin, room = i, 0
			}
			room += need
		}
		if begin < len(files) {
			yield(files[begin:])
		}
	}
}

// readRuns reads runs until there are no more.
func (l *lister) readRuns(ctx context.Context, runs <-chan []*reading) error {
	cursor := l.tree.Cursor()
	defer cursor.Close()
	bulk := l.tree.bulk(true)
	defer bulk.close()
	for run := range runs {
		if !inRuns(run[0]) {
			r := run[0]
			r.digest, r.read, r.err = l.read(ctx, cursor, r)
			close(r.done)
		} else if err := l.readRun(ctx, bulk, run); err != nil {
			return err
		}
	}
	return nil
}

// readRun reads several small files at once.
func (l *lister) readRun(ctx context.Context, bulk *bulk, run []*reading) error {
	files := make([]Small, len(run))
	for i, r := range run {
		files[i] = Small{Path: r.entry.Path, Size: r.entry.Size}
		if l.options.Throttle == nil {
			continue
		}
		if err := l.options.Throttle(ctx, int(r.entry.Size)); err != nil {
			return err
		}
	}
	next := 0
	return bulk.run(files, func(f *Small) error {
		r := run[next]
		next++
		r.read, r.err = int64(len(f.Data)), f.Err
		if r.err == nil && (r.read < r.entry.Size || !sameState(r.entry, &f.Now)) {
			r.err = ErrChanged
		}
		if r.err == nil {
			r.digest = wholeDigest(f.Data)
			l.tallyContent(r.entry.Path, r.digest)
		}
		if l.options.Progress != nil {
			l.options.Progress.Add(r.read)
		}
		close(r.done)
		return ctx.Err()
	})
}

// sameState reports whether a file is the one that was listed, and has not changed since.
func sameState(listed, now *entry.Entry) bool {
	return now.Size == listed.Size && now.Modified == listed.Modified && now.Inode == listed.Inode
}

// wholeDigest returns the digest of a content of at most one leaf, as Hasher.Digest does.
func wholeDigest(data []byte) [32]byte {
	if len(data) == 0 {
		return blake3.Sum256(nil)
	}
	leaf := blake3.Sum256(data)
	return blake3.Sum256(leaf[:])
}
