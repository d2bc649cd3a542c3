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
		// The sync of the whole file system reports its errors. An fsync for each of many small files would
		// take longer than everything else.
		w.receiver.flush(len(data))
	} else if err := file.Sync(); err != nil {
		return err
	}
	return w.receiver.settle(file.SetMetadata, f.entry, content.Status)
}

// flush counts written bytes that are not synced, and syncs them once they are many, while requests continue. The disk
// then writes long runs, and little is left to the end. The system reports an error only in this sync, so it ends the
// pass.
func (r *Receiver) flush(n int) {
	const much, least = 64 << 20, 4 << 10 // bytes; each file takes a block
	if r.unsynced.Add(int64(max(n, least))) < much || !r.syncing.CompareAndSwap(false, true) {
		return
	}
	r.unsynced.Store(0)
	r.beside(func() error {
		defer r.syncing.Store(false)
		return full(r.note(r.options.Tree.Sync()))
	})
}

// fill writes a content. If a file has holes at the source, pages of zeros become holes: a request for their
// positions would take a round trip for each small file.
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

// holds reports whether a file already has exactly this content.
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
