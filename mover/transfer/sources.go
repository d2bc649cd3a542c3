package transfer

import (
	"os"

	"github.com/sliceshift/sliceshift/mover/differ"
	"github.com/sliceshift/sliceshift/mover/entry"
	"github.com/sliceshift/sliceshift/mover/tree"
	"github.com/sliceshift/sliceshift/mover/wire"
)

// sources holds what the file system of the source shows of its files: of the pass before, and of this one. Size and
// time of modification do not show every write: a program may set the time back, and a page that is written through a
// memory map changes it only once until it is written back. The inode and its time of change show every write, where
// change times are trusted (differ.Trusted). The content of every other file is compared. The findings of a pass are kept
// at the destination, where those of verify Changed keep the sender's.
type sources struct {
	// before is the index of the pass before, and known reads it; nil if there is none, or it does not count.
	before *os.File
	known  *tree.Index
	// file is the index of this pass, and record writes it; nil if it is not kept.
	file   *os.File
	record *tree.IndexWriter
	// reading is that of the sender in this pass. young is how many bytes it has of files that the next pass compares even
	// if they do not change any more.
	reading differ.Reading
	young   int64
	opened  bool
}

// greeted takes the reading of the sender, as of its first greeting: the sender syncs and lists its source later.
func (r *Receiver) greeted(hello wire.Hello) {
	if len(hello.Reading) == 0 || r.peer.Load() != nil {
		return
	}
	reading, err := differ.ReadReading(hello.Reading)
	if err != nil {
		r.options.Log.Warn("the sender's reading is not understood", "why", err)
		return
	}
	r.peer.CompareAndSwap(nil, &reading)
}

// compare returns how the content of a file of the source is compared with the receiver's own.
func (r *Receiver) compare(source *entry.Entry) (differ.Compare, error) {
	if !r.keeps() || source.Kind != entry.File {
		return r.options.Compare, nil
	}
	s := r.sources
	if !s.opened {
		s.open(r)
	}
	if s.record != nil {
		s.note(differ.RecordOf(source, "", s.reading.Synced), min(source.Size, source.Allocated))
	}
	if s.known == nil {
		return differ.Content, nil
	}
	record, err := s.known.Find(source.Path)
	if err != nil || record == nil || !differ.Trusted(source, "", *record) {
		return differ.Content, err
	}
	return r.options.Compare, nil
}

// note adds the record of a file that occupies a number of bytes.
func (s *sources) note(record differ.Record, occupied int64) {
	s.record.Add(record)
	if !record.Settled() {
		s.young += occupied
	}
}

// open opens both indexes, once the sender has greeted.
func (s *sources) open(r *Receiver) {
	s.opened = true
	reading := r.peer.Load()
	if reading == nil || !differ.TrustedFileSystem(reading.FileSystem) {
		return
	}
	s.reading = *reading
	if s.before != nil {
		known, err := tree.OpenIndex(s.before, s.reading)
		if err != nil {
			r.options.Log.Warn("the content of all files is compared: the previous index of the source is unusable", "why", err)
		}
		s.known = known
	}
	if r.options.Settled || r.options.Copy == "" {
		return
	}
	file, err := r.options.Tree.Unnamed()
	if err != nil {
		r.options.Log.Info("the files of the source are not kept", "why", r.note(err))
		return
	}
	s.file, s.record = file, tree.CreateIndex(file, s.reading)
}

// commit returns the complete index of this pass; nil if none is kept.
func (s *sources) commit() (*os.File, error) {
	if s.record == nil {
		return nil, nil
	}
	return s.file, s.record.Commit()
}

func (s *sources) close() {
	if s.file != nil {
		_ = s.file.Close()
	}
}
