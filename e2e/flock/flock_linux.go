// Package flock locks files among processes. The kernel releases a lock when its holder dies, so that a killed process
// never blocks the next one.
package flock

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
)

// Wait waits for the lock on path, and returns a function that releases it.
func Wait(ctx context.Context, path string) (unlock func(), err error) {
	var file *os.File
	err = wait.PollUntilContextCancel(ctx, 100*time.Millisecond, true, func(context.Context) (bool, error) {
		file, err = Try(path)
		return file != nil, err
	})
	if err != nil {
		return nil, fmt.Errorf("lock %s: %w", path, err)
	}
	return func() { file.Close() }, nil
}

// Try returns the locked file, or nil if another process holds it. Closing the file unlocks it.
func Try(path string) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	err = syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if err == nil {
		return file, nil
	}
	file.Close()
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return nil, nil
	}
	return nil, err
}

// Own creates a locked file, the sign that its folder is in use. The file gets its final name only when it is locked,
// because another process may sweep at any time.
func Own(path string) (*os.File, error) {
	file, err := Try(path + ".new")
	if err != nil {
		return nil, err
	}
	return file, os.Rename(path+".new", path)
}

// Sweep calls remove with the folder of each file of a pattern that no process has locked, while it holds the lock.
func Sweep(pattern string, remove func(dir string)) {
	found, _ := filepath.Glob(pattern) // the pattern is well-formed
	for _, path := range found {
		file, err := os.OpenFile(path, os.O_RDWR, 0)
		if err != nil {
			continue
		}
		if syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil {
			remove(filepath.Dir(path))
		}
		file.Close()
	}
}
