package tree

import (
	"golang.org/x/sys/unix"

	"github.com/sliceshift/sliceshift/mover/entry"
)

// Cursor works on a tree, and keeps the last folder open, because paths come in order. It is for one goroutine.
type Cursor struct {
	tree *Tree
	path string
	fd   int
}

// Cursor returns a cursor of the tree.
func (t *Tree) Cursor() *Cursor { return &Cursor{tree: t, fd: -1} }

// Close closes the folder.
func (c *Cursor) Close() {
	if c.fd >= 0 {
		_ = unix.Close(c.fd)
		c.fd = -1
	}
}

// at returns the folder of a path, and the name in it.
func (c *Cursor) at(path string) (folder int, name string, err error) {
	if path == "" || !entry.Valid(path) {
		return -1, "", c.tree.wrap("open", path, unix.EINVAL)
	}
	parent, name := entry.Split(path)
	if c.fd >= 0 && c.path == parent {
		return c.fd, name, nil
	}
	fd, err := c.tree.open(parent, unix.O_PATH|unix.O_DIRECTORY, 0)
	if err != nil {
		return -1, "", err
	}
	c.Close()
	c.path, c.fd = parent, fd
	return fd, name, nil
}

// openName opens a name in its folder, and follows no link.
func (c *Cursor) openName(path string, flags int, mode uint32) (int, error) {
	if path == "" {
		return c.tree.open("", flags, mode)
	}
	folder, name, err := c.at(path)
	if err != nil {
		return -1, err
	}
	fd, err := c.tree.step(folder, name, flags|unix.O_CLOEXEC|unix.O_NOFOLLOW, mode)
	if err != nil {
		return -1, c.tree.wrap("open", path, err)
	}
	return fd, nil
}
