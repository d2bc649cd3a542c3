package tree

import (
	"slices"

	"golang.org/x/sys/unix"
)

// names returns the names of a folder in order. It keeps about limit bytes of them: a folder with more is read
// again from its start for the next ones. So no temporary file is needed, and five million names in one folder
// take 25 readings of it.
type names struct {
	limit int
	last  string
	ready []string
	next  int
	all   bool
}

// overhead is the approximate memory of a string without its bytes.
const overhead = 40

// take returns the next name; "" is the end.
func (n *names) take(fd int) (string, error) {
	if n.next == len(n.ready) {
		if n.all {
			return "", nil
		}
		if err := n.read(fd); err != nil {
			return "", err
		}
		if len(n.ready) == 0 {
			return "", nil
		}
	}
	n.last = n.ready[n.next]
	n.ready[n.next] = ""
	n.next++
	return n.last, nil
}

func (n *names) read(fd int) error {
	if _, err := unix.Seek(fd, 0, unix.SEEK_SET); err != nil {
		return err
	}
	kept := lowest{above: n.last, limit: n.limit, list: n.ready[:0]}
	buffer := make([]byte, 64<<10)
	var found []string
	for {
		size, err := retry(func() (int, error) { return unix.ReadDirent(fd, buffer) })
		if err != nil {
			return err
		}
		if size == 0 {
			break
		}
		_, _, found = unix.ParseDirent(buffer[:size], -1, found[:0])
		for _, name := range found {
			kept.add(name)
		}
	}
	kept.shrink()
	n.ready, n.next, n.all = kept.list, 0, !kept.cut
	return nil
}

// lowest keeps the lowest names above one, up to a number of bytes.
type lowest struct {
	above string
	limit int
	list  []string
	size  int
	cut   bool
	most  string // no name above it is kept, once cut
}

func (l *lowest) add(name string) {
	if name <= l.above || l.cut && name > l.most {
		return
	}
	l.list = append(l.list, name)
	if l.size += len(name) + overhead; l.size > 2*l.limit {
		l.shrink()
	}
}

func (l *lowest) shrink() {
	slices.Sort(l.list)
	size := 0
	for i, name := range l.list {
		if size += len(name) + overhead; size > l.limit && i > 0 {
			clear(l.list[i:])
			l.list, l.cut = l.list[:i], true
			break
		}
	}
	l.size = min(size, l.limit)
	if l.cut {
		l.most = l.list[len(l.list)-1]
	}
}
