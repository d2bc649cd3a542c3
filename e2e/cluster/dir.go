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

// makeDir makes the cluster's folder, readable by nobody else, and locks it.
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
	// The lock gets its name when it is held: another process may sweep at any time.
	unnamed := filepath.Join(c.dir, lockName+".new")
	if c.lock, err = flock.Try(unnamed); err != nil {
		return err
	}
	return os.Rename(unnamed, filepath.Join(c.dir, lockName))
}

// linkBinary gives the cluster a name of its own for the binary, for the roles
// that a test starts again: a Build from changed sources removes the other one.
// If the folders are on different file systems, that is a risk to live with.
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

// removeDir removes the cluster's folder but for what is to be kept.
func (c *Cluster) removeDir() error {
	defer c.lock.Close()
	c.mu.Lock()
	keepLogs := c.keepLogs
	c.mu.Unlock()
	switch {
	case c.options.Keep:
		return os.Remove(filepath.Join(c.dir, lockName)) // without it, sweep leaves the folder alone
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

// sweep removes what clusters left behind whose process was killed before it
// could stop them, 100 MB for each. The kernel has given back their locks. It
// is a courtesy, so what it cannot remove stays.
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
