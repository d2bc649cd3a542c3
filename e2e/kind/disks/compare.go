package disks

import (
	"context"
	"errors"
	"os"
	"path/filepath"

	"github.com/sliceshift/sliceshift/internal/program"
	"github.com/sliceshift/sliceshift/internal/treediff"
)

// Compare returns the differences between two disks, one per line, except lines added to the journals of the second
// disk, where a started replica writes. The first disk must not be written. dir is an empty folder for copies of the
// two disks.
func (d *Disks) Compare(ctx context.Context, dir, from, to string) ([]string, error) {
	one, other := filepath.Join(dir, "one"), filepath.Join(dir, "other")
	if err := errors.Join(d.take(ctx, from, one), d.take(ctx, to, other)); err != nil {
		return nil, err
	}
	return lost(ctx, one, other)
}

// take copies the current content of a disk into a folder.
func (d *Disks) take(ctx context.Context, handle, into string) error {
	at, done, err := d.Folder.Look(ctx, handle)
	if err != nil {
		return err
	}
	_, err = program.In{}.Output(ctx, "cp", "-a", at, into)
	return errors.Join(err, done())
}

// lost returns the differences between two folders. It first truncates the journals in now to their length in of.
func lost(ctx context.Context, of, now string) ([]string, error) {
	journals, err := filepath.Glob(filepath.Join(of, "*", "journal"))
	if err != nil {
		return nil, err
	}
	if len(journals) == 0 {
		return []string{"there was no journal"}, nil
	}
	for _, path := range journals {
		name, err := filepath.Rel(of, path)
		if err == nil {
			err = cut(path, filepath.Join(now, name))
		}
		if err != nil {
			return []string{err.Error()}, nil //nolint:nilerr // a journal that is not there is a difference
		}
	}
	return treediff.Compare(ctx, of, now)
}

// cut truncates a journal to the length of another one.
func cut(of, journal string) error {
	before, err := os.Stat(of)
	if err != nil {
		return err
	}
	now, err := os.Stat(journal)
	if err != nil {
		return err
	}
	if now.Size() < before.Size() {
		return nil // data is missing, which the comparison shows
	}
	return errors.Join(os.Truncate(journal, before.Size()), os.Chtimes(journal, before.ModTime(), before.ModTime()))
}
