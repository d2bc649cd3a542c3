package mover

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// filesFigures are the measurements with very many files, which concern memory.
type filesFigures struct {
	Files   int     `json:"files"`
	Seconds float64 `json:"seconds"`
	Peak    float64 `json:"mover_peak_mib"`
}

// files copies and verifies that many empty files, half of them in one folder.
func (b *bench) files(ctx context.Context, count int) (filesFigures, error) {
	source, destination := filepath.Join(b.place, "source"), filepath.Join(b.place, "ours")
	if err := errors.Join(os.Mkdir(source, 0o755), os.Mkdir(destination, 0o755)); err != nil {
		return filesFigures{}, err
	}
	b.Say("%d files: making them", count)
	if err := empty(source, count); err != nil {
		return filesFigures{}, err
	}
	b.Say("%d files: ours", count)
	begin := time.Now()
	_, err := b.ours(ctx, source, destination)
	return filesFigures{Files: count, Seconds: time.Since(begin).Seconds(), Peak: *b.peak}, err
}

func empty(root string, count int) error {
	if err := os.Mkdir(root+"/one", 0o755); err != nil {
		return err
	}
	folder := ""
	for i := range count {
		path := fmt.Sprintf("%s/one/file-%d", root, i)
		if i >= count/2 {
			if i%perFolder == 0 || folder == "" {
				folder = fmt.Sprintf("%s/%d", root, i/perFolder)
				if err := os.Mkdir(folder, 0o755); err != nil {
					return err
				}
			}
			path = fmt.Sprintf("%s/file-%d", folder, i)
		}
		if err := unix.Mknod(path, unix.S_IFREG|0o600, 0); err != nil {
			return &os.PathError{Op: "mknod", Path: path, Err: err}
		}
	}
	return nil
}
