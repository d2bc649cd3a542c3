package kind

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// machineLock returns the lock that excludes other runs: the names of clusters and network are fixed.
func machineLock() string { return filepath.Join(os.TempDir(), "sliceshift-kind.lock") }

// lock locks a file for this process. The kernel releases the lock when the process ends, however it ends.
func lock(path string) (release func(), err error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the lock: %w", err)
	}
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		_ = file.Close()
		return nil, fmt.Errorf("another run has the clusters %seast and %swest (lock %s): wait for its end: %w", prefix, prefix, path, err)
	}
	return func() { _ = file.Close() }, nil
}
