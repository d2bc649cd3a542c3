package cluster

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/sliceshift/sliceshift/e2e/flock"
)

const (
	dirPrefix = "sliceshift-cluster-"
	lockName  = "lock"
)

// makeDir creates the cluster's folder, readable by no other user, and locks it.
func (c *Cluster) makeDir() error {
	dir := c.options.Dir
	var err error
	if dir == "" {
		sweep()
		dir, err = os.MkdirTemp("", dirPrefix+c.Name()+"-")
	} else {
		err = makeEmpty(dir)
	}
	if err != nil {
		return err
	}
	if c.dir, err = filepath.Abs(dir); err != nil {
		return err
	}
	if err := os.Mkdir(c.logDir(), 0o700); err != nil {
		return err
	}
	// The lock file gets its final name only when it is locked: another process may sweep at any time.
	unnamed := filepath.Join(c.dir, lockName+".new")
	if c.lock, err = flock.Try(unnamed); err != nil {
		return err
	}
	return os.Rename(unnamed, filepath.Join(c.dir, lockName))
}

// linkBinary links the binary into the cluster's folder, for the roles that a test starts again: a Build from changed
// sources removes the original. If the folders are on different file systems, that risk remains.
func (c *Cluster) linkBinary() {
	c.binary = filepath.Join(c.dir, "controlplane")
	if err := os.Link(c.options.Binary, c.binary); err != nil {
		c.binary = c.options.Binary
	}
}

func makeEmpty(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	if len(entries) > 0 {
		return fmt.Errorf("folder %s is not empty", dir)
	}
	return nil
}

// removeDir removes the cluster's folder except for the parts to keep.
func (c *Cluster) removeDir() error {
	defer c.lock.Close()
	c.mu.Lock()
	keepLogs := c.keepLogs
	c.mu.Unlock()
	switch {
	case c.options.Keep:
		return os.Remove(filepath.Join(c.dir, lockName)) // without it, sweep skips the folder
	case !keepLogs:
		return os.RemoveAll(c.dir)
	}
	entries, err := os.ReadDir(c.dir)
	if err != nil {
		return err
	}
	var errs []error
	for _, entry := range entries {
		if path := filepath.Join(c.dir, entry.Name()); path != c.logDir() {
			errs = append(errs, os.RemoveAll(path))
		}
	}
	return errors.Join(errs...)
}

// sweep removes the folders of clusters whose process was killed before it could stop them, 100 MB each. The kernel
// has released their locks. It is best effort: folders that it cannot remove remain.
func sweep() {
	locks, _ := filepath.Glob(filepath.Join(os.TempDir(), dirPrefix+"*", lockName))
	for _, path := range locks {
		lock, err := flock.Try(path)
		if err != nil || lock == nil {
			continue
		}
		_ = os.RemoveAll(filepath.Dir(path))
		lock.Close()
	}
}
