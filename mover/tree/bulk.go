package tree

import (
	"cmp"
	"errors"
	"io"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/sliceshift/sliceshift/mover/aio"
	"github.com/sliceshift/sliceshift/mover/entry"
)

const (
	// bulkFiles is how many files are open at once, and bulkBytes is the room for their data.
	bulkFiles, bulkBytes = 64, 512 << 10
	// MaxSmall is the most bytes of a small file.
	MaxSmall = 128 << 10
)

// Small is a file that is read whole.
type Small struct {
	Path string
	// Size is the expected size, at most MaxSmall. No more is read.
	Size int64

	// Data is what was read: fewer bytes than Size if the file is shorter. It is valid until done returns.
	Data []byte
	// Now is the entry of the file after it was read, without extended attributes.
	Now entry.Entry
	// Err is why the file was not read.
	Err error

	file *File  // nil unless it is open
	room []byte // for its data
}

// Drop removes the data that were read from the system's cache. Reads past the cache leave none there.
func (s *Small) Drop() {
	if s.file != nil && !s.file.direct.Load() {
		s.file.Drop()
	}
}

// bulk reads small files whole, many at once, and past the cache if their file system supports that. To a disk, such
// reads of files that are adjacent there are one. It is for one goroutine.
type bulk struct {
	cursor *Cursor
	// proof is true if nothing may come from the cache.
	proof bool
	// engine is nil until it is needed, and stays nil if the system refuses it: then files are read one after another.
	engine  *aio.Reader
	refused bool
	room    []byte
	opened  []*Small
	reads   []aio.Read
}

func (t *Tree) bulk(proof bool) *bulk { return &bulk{cursor: t.Cursor(), proof: proof} }

// several reports whether that number of reads is done at once.
func (b *bulk) several(reads int) bool {
	const few = 4 // for which the system merges nothing
	if reads < few || b.refused {
		return false
	}
	if b.engine == nil {
		engine, err := aio.New(bulkFiles)
		if err != nil {
			b.refused = true
			return false
		}
		b.engine = engine
	}
	return true
}

func (b *bulk) close() {
	b.cursor.Close()
	if b.engine != nil {
		go b.engine.Close() // it has no reads any more, and still takes milliseconds
		b.engine = nil
	}
}

// reader reads a tree to send it.
type reader struct {
	*Cursor
	bulk *bulk // nil until it is needed
}

// NewReader returns a Reader.
func (t *Tree) NewReader() Reader { return &reader{Cursor: t.Cursor()} }

// Small reads small files whole.
func (r *reader) Small(files []Small, done func(*Small) error) error {
	if r.bulk == nil {
		r.bulk = r.tree.bulk(false)
	}
	return r.bulk.run(files, done)
}

// Close ends the Reader.
func (r *reader) Close() {
	r.Cursor.Close()
	if r.bulk != nil {
		r.bulk.close()
	}
}

// run reads files, and calls done with each of them, in their order. An error of done ends it.
func (b *bulk) run(files []Small, done func(*Small) error) error {
	for len(files) > 0 {
		n := b.open(files)
		b.read()
		if err := b.finish(done); err != nil {
			return err
		}
		files = files[n:]
	}
	return nil
}

// open opens as many files as there is room for, and returns their number.
func (b *bulk) open(files []Small) int {
	if b.room == nil {
		b.room = Aligned(bulkBytes)
	}
	b.opened = b.opened[:0]
	used := 0
	for i := range files {
		f := &files[i]
		need := sectors(f.Size)
		if i == bulkFiles || used+need > len(b.room) {
			return i
		}
		f.file, f.Err = b.openOne(f)
		if errors.Is(f.Err, unix.EMFILE) && i > 0 {
			return i // the others are closed first
		}
		f.Data, f.room = nil, b.room[used:used+need:used+need]
		b.opened = append(b.opened, f)
		used += need
	}
	return len(files)
}

func (b *bulk) openOne(f *Small) (*File, error) {
	if b.proof {
		return b.cursor.openPastCache(f.Path)
	}
	file, err := b.cursor.openDirect(f.Path)
	if err == nil && !file.direct.Load() {
		file.Prefetch(0, f.Size)
	}
	return file, err
}

// sectors returns a size in whole sectors, which reads past the cache have.
func sectors(size int64) int { return (int(size) + sector - 1) / sector * sector }

// read reads the open files: those past the cache at once, in the order of their inodes, which file systems keep near
// that of their data.
func (b *bulk) read() {
	var together []*Small
	for _, f := range b.opened {
		switch {
		case f.file == nil || len(f.room) == 0:
		case f.file.direct.Load():
			together = append(together, f)
		default:
			f.read()
		}
	}
	if !b.several(len(together)) {
		for _, f := range together {
			f.read()
		}
		return
	}
	slices.SortStableFunc(together, func(a, b *Small) int { return cmp.Compare(a.file.ino, b.file.ino) })
	b.reads = b.reads[:0]
	for _, f := range together {
		b.reads = append(b.reads, aio.Read{FD: f.file.fd, Buffer: f.room})
	}
	b.engine.Do(b.reads)
	for i, f := range together {
		f.take(b.reads[i])
	}
}

// read reads one file.
func (s *Small) read() {
	n, err := s.file.ReadAt(s.room, 0)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	s.Data, s.Err = s.room[:n], err
}

// take takes the result of a read. The file is read again by itself if the system refused the read, because this disk
// has larger sectors or because the system does as many reads as it can, and if data are missing.
func (s *Small) take(r aio.Read) {
	refused := errors.Is(r.Err, unix.EINVAL) || errors.Is(r.Err, unix.EAGAIN)
	switch {
	case refused || r.Err == nil && int64(r.N) < s.Size:
		s.read()
	case r.Err != nil:
		s.Err = s.file.tree.wrap("read", s.file.path, r.Err)
	default:
		s.Data = s.room[:r.N]
	}
}

// finish calls done with each file, and closes them all.
func (b *bulk) finish(done func(*Small) error) (err error) {
	for _, f := range b.opened {
		f.Data = f.Data[:min(int64(len(f.Data)), f.Size)]
		if f.file != nil && f.Err == nil {
			f.Now, f.Err = f.file.Stat()
		}
		if err == nil {
			err = done(f)
		}
		if f.file != nil {
			_ = f.file.Close() // it was only read
		}
		f.Data, f.room, f.file = nil, nil, nil
	}
	return err
}
