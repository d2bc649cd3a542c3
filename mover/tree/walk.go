package tree

import (
	"errors"
	"fmt"
	"io"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/sliceshift/sliceshift/mover/entry"
)

const (
	// openFolders is how many folders a walk holds open at most: the deepest ones.
	openFolders = 64
	// nearLimit and farLimit limit the bytes of names that are kept of a folder near the root, and of one far
	// below it: a deep tree has many folders open at once.
	nearLimit, farLimit, near = 4 << 20, 64 << 10, 8
)

// Walker returns the entries of a tree in the order of entry.Compare. It may or may not see entries that are
// created while it walks. It never returns one that sorts before an entry that it has returned.
type Walker struct {
	tree    *Tree
	stack   []*level
	pending *entry.Entry // a folder to enter
	started bool
	from    string
	// Vanished is how many objects vanished before they were read.
	Vanished uint64
}

type level struct {
	path  string
	fd    int // -1: closed meanwhile
	names names
}

// Walk starts a walk of a folder, "" for the whole tree.
func (t *Tree) Walk(folder string) *Walker { return &Walker{tree: t, from: folder} }

// Close ends a walk.
func (w *Walker) Close() {
	for _, l := range w.stack {
		l.close()
	}
	w.stack = nil
}

func (l *level) close() {
	if l.fd >= 0 {
		_ = unix.Close(l.fd)
		l.fd = -1
	}
}

// SkipFolder skips the content of the folder that was returned last.
func (w *Walker) SkipFolder() { w.pending = nil }

// Next returns the next entry, or io.EOF.
func (w *Walker) Next() (*entry.Entry, error) {
	if !w.started {
		w.started = true
		return w.first()
	}
	if err := w.descend(); err != nil {
		return nil, err
	}
	for len(w.stack) > 0 {
		l := w.stack[len(w.stack)-1]
		if err := w.reopen(l); err != nil {
			if Gone(err) {
				w.leave()
				continue
			}
			return nil, err
		}
		name, err := l.names.take(l.fd)
		if err != nil {
			return nil, w.tree.wrap("readdir", l.path, err)
		}
		if name == "" {
			w.leave()
			continue
		}
		if l.path == "" && slices.Contains(Reserved, name) {
			continue
		}
		e, err := w.look(l, name)
		if err != nil {
			return nil, err
		}
		if e != nil {
			return e, nil
		}
	}
	return nil, io.EOF
}

func (w *Walker) look(l *level, name string) (*entry.Entry, error) {
	path := entry.Join(l.path, name)
	if len(path) > entry.MaxPath {
		return nil, fmt.Errorf("%s/%.200q and below it: the path has more than %d bytes, which the mover does not carry", w.tree.name, path, entry.MaxPath)
	}
	e, err := w.tree.read(l.fd, name, path)
	if Gone(err) {
		w.Vanished++
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if e.Inode.Dev != w.tree.dev {
		return nil, fmt.Errorf("%s/%s is the root of another file system, or of a subvolume: a volume is moved by itself; unmount it there, or move it as a volume of its own", w.tree.name, path)
	}
	if e.Kind == entry.Directory {
		w.pending = e
	}
	return e, nil
}

func (w *Walker) first() (*entry.Entry, error) {
	fd, err := w.tree.open(w.from, unix.O_RDONLY|unix.O_DIRECTORY, 0)
	if err != nil {
		return nil, err
	}
	e, err := w.tree.readOpen(fd, w.from)
	if err != nil {
		return nil, errors.Join(err, unix.Close(fd))
	}
	w.push(w.from, fd)
	return e, nil
}

func (w *Walker) push(path string, fd int) {
	if len(w.stack) >= openFolders {
		w.stack[len(w.stack)-openFolders].close()
	}
	limit := nearLimit
	if len(w.stack) > near {
		limit = farLimit
	}
	w.stack = append(w.stack, &level{path: path, fd: fd, names: names{limit: limit}})
}

// descend enters the folder that was returned last.
func (w *Walker) descend() error {
	if w.pending == nil {
		return nil
	}
	path := w.pending.Path
	w.pending = nil
	fd, err := w.tree.open(path, unix.O_RDONLY|unix.O_DIRECTORY, 0)
	if Gone(err) {
		w.Vanished++
		return nil
	}
	if err != nil {
		return err
	}
	w.push(path, fd)
	return nil
}

func (w *Walker) leave() {
	w.stack[len(w.stack)-1].close()
	w.stack = w.stack[:len(w.stack)-1]
}

func (w *Walker) reopen(l *level) error {
	if l.fd >= 0 {
		return nil
	}
	fd, err := w.tree.open(l.path, unix.O_RDONLY|unix.O_DIRECTORY, 0)
	if err != nil {
		return err
	}
	l.fd = fd
	return nil
}
