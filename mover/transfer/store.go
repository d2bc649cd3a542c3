package transfer

import (
	"bytes"
	"errors"

	"github.com/sliceshift/sliceshift/mover/tree"
	"github.com/sliceshift/sliceshift/mover/wire"
)

// store writes a small file that has arrived.
func (w *worker) store(f *small, content wire.Content) error {
	r := w.receiver
	r.Counts.Received.Add(int64(len(content.Data)))
	switch content.Status {
	case wire.OK:
	case wire.Failed:
		return &remote{path: f.entry.Path, problem: content.Problem}
	case wire.Vanished, wire.Changed:
		if r.options.Settled {
			return errLeft(f.entry.Path, content.Status)
		}
	}
	r.Counts.Settled.Add(f.entry.Size)
	if content.Status == wire.Vanished {
		r.Counts.Vanished.Add(1)
		return f.finish(w.cursor)
	}
	if err := w.write(f, content); err != nil {
		return err
	}
	return f.finish(w.cursor)
}

// write writes a content and the metadata.
func (w *worker) write(f *small, content wire.Content) (err error) {
	open := w.cursor.OpenToWrite
	if f.missing {
		open = w.cursor.Create
	}
	file, err := open(f.entry.Path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	data := content.Data
	if !f.missing {
		same, err := w.holds(file, data)
		if err != nil {
			return err
		}
		if same {
			return w.receiver.settle(file.SetMetadata, f.entry, content.Status)
		}
	}
	if err := fill(file, data, f); err != nil {
		return err
	}
	w.receiver.Counts.Written.Add(int64(len(data)))
	if w.receiver.options.Tree.ReportsErrors() {
		// Its errors come with a sync of all: an fsync for each of many small files would take longer than
		// all else.
		if err := w.receiver.flush(len(data)); err != nil {
			return err
		}
	} else if err := file.Sync(); err != nil {
		return err
	}
	return w.receiver.settle(file.SetMetadata, f.entry, content.Status)
}

// flush counts what was written and not yet synced, and has all of it written once that is much: in whole stretches
// of the disk, and while others go on, so that little is left to the end. What goes wrong with it is told here and
// not again.
func (r *Receiver) flush(n int) error {
	const much, least = 64 << 20, 4 << 10 // bytes; each file takes a block
	if r.unsynced.Add(int64(max(n, least))) < much || !r.syncing.CompareAndSwap(false, true) {
		return nil
	}
	defer r.syncing.Store(false)
	r.unsynced.Store(0)
	return r.note(r.options.Tree.Sync())
}

// fill writes a content. Of a file that has holes at the source pages of zeros become holes: to ask where they
// are would take a round trip for each small file.
func fill(file *tree.File, data []byte, f *small) error {
	if !f.entry.Sparse() {
		_, err := file.WriteAt(data, 0)
		if err == nil && !f.missing {
			err = file.Truncate(int64(len(data)))
		}
		return err
	}
	if !f.missing {
		if err := file.Truncate(0); err != nil {
			return err
		}
	}
	if err := file.Truncate(int64(len(data))); err != nil {
		return err
	}
	const page = 4096
	var zeros [page]byte
	for at := 0; at < len(data); at += page {
		part := data[at:min(at+page, len(data))]
		if bytes.Equal(part, zeros[:len(part)]) {
			continue
		}
		if _, err := file.WriteAt(part, int64(at)); err != nil {
			return err
		}
	}
	return nil
}

// holds says whether a file has a content already, and nothing more.
func (w *worker) holds(file *tree.File, data []byte) (bool, error) {
	now, err := file.Stat()
	if err != nil || now.Size != int64(len(data)) {
		return false, err
	}
	own := make([]byte, len(data))
	if err := tree.ReadFull(file, own, 0); err != nil {
		return false, err
	}
	return bytes.Equal(own, data), nil
}
