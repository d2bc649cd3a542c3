package mover

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"math/rand/v2"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

const (
	bigBytes   = 4 << 30
	smallFiles = 200_000
	leastSmall = 1 << 10
	mostSmall  = 16 << 10
	changed    = 100     // one part of that many
	page       = 8 << 10 // the write unit of a database
	perFolder  = 500
)

func scenes(f *figures) []scene {
	total, count := int64(bigBytes/max(f.Scale, 1)), smallFiles/max(f.Scale, 1)
	return []scene{
		{"big", "one file of " + size(total), func(source, _ string) error { return random(source+"/file", total) }, largeWays, false, 1, &f.Big},
		{"small", fmt.Sprintf("%d files of 1 to 16 KiB", count), func(source, _ string) error { return many(source, count) }, smallWays, true, 2, &f.Small},
		{"delta", size(total) + ", of which 1 % was changed", func(source, destination string) error {
			return errors.Join(random(destination+"/file", total), random(source+"/file", total), change(source+"/file", total))
		}, changedWays, false, 3, &f.Delta},
	}
}

// bytes returns random bytes, which are not compressible, and the same in each run.
func bytes() io.Reader { return rand.NewChaCha8([32]byte{7}) }

func random(path string, size int64) error {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	_, err = io.CopyN(file, bytes(), size)
	return errors.Join(err, file.Sync(), file.Close())
}

func many(root string, count int) error {
	source, sizes := bytes(), rand.New(rand.NewPCG(1, 2))
	buffer := make([]byte, mostSmall)
	for i := range count {
		folder := fmt.Sprintf("%s/%d", root, i/perFolder)
		if i%perFolder == 0 {
			if err := os.Mkdir(folder, 0o755); err != nil {
				return err
			}
		}
		content := buffer[:leastSmall+sizes.IntN(mostSmall-leastSmall)]
		if _, err := source.Read(content); err != nil {
			return err
		}
		if err := os.WriteFile(fmt.Sprintf("%s/%d", folder, i), content, 0o600); err != nil {
			return err
		}
	}
	return nil
}

// change overwrites pages at random offsets.
func change(path string, size int64) error {
	file, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	content := make([]byte, page)
	for offset := range places(size) {
		content[offset/page%page]++
		if _, err := file.WriteAt(content, offset); err != nil {
			return errors.Join(err, file.Close())
		}
	}
	return errors.Join(file.Sync(), file.Close())
}

// places yields the offsets of the changed pages of a file, the same in each run. One may come twice.
func places(size int64) iter.Seq[int64] {
	return func(yield func(int64) bool) {
		random := rand.New(rand.NewPCG(3, 4))
		for range size / page / changed {
			if !yield(random.Int64N(size/page) * page) {
				return
			}
		}
	}
}

// each calls do with each regular file of a tree.
func each(root string, do func(path string) error) error {
	return filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		return do(path)
	})
}

// cool writes a tree to the disk and drops it from the page cache.
func cool(root string) error {
	if err := syncAll(root); err != nil {
		return err
	}
	return each(root, func(path string) error {
		file, err := os.Open(path)
		if err != nil {
			return err
		}
		return errors.Join(unix.Fadvise(int(file.Fd()), 0, 0, unix.FADV_DONTNEED), file.Close())
	})
}

func syncAll(root string) error {
	file, err := os.Open(root)
	if err != nil {
		return err
	}
	return errors.Join(unix.Syncfs(int(file.Fd())), file.Close())
}

// duplicate copies a tree, so that all contenders have the same start.
func duplicate(from, to string) error {
	if err := os.RemoveAll(to); err != nil {
		return err
	}
	return os.CopyFS(to, os.DirFS(from))
}

// copyFiles copies and verifies empty files, half of them in one folder.
func (b *bench) copyFiles(ctx context.Context) error {
	source, destination := filepath.Join(b.place, "source"), filepath.Join(b.place, "ours")
	if err := errors.Join(os.Mkdir(source, 0o755), os.Mkdir(destination, 0o755)); err != nil {
		return err
	}
	b.Say("%d files: making them", b.files)
	if err := empty(source, b.files); err != nil {
		return err
	}
	b.Say("%d files: ours", b.files)
	begin := time.Now()
	_, err := b.ours(ctx, source, destination)
	b.many = filesFigures{Files: b.files, Seconds: time.Since(begin).Seconds(), Peak: b.figures.Peak}
	return err
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
