package disks

import (
	"context"
	"errors"
	"os"
	"path/filepath"

	"github.com/sliceshift/sliceshift/internal/program"
	"github.com/sliceshift/sliceshift/internal/treediff"
)

// Compare says in what two disks differ, a line each, but for what was added to the journals of the second one: the replica
// that was started on it writes. Nobody writes to the first one. dir is an empty folder for copies of both.
func (d *Disks) Compare(ctx context.Context, dir, from, to string) ([]string, error) {
	one, other := filepath.Join(dir, "one"), filepath.Join(dir, "other")
	if err := errors.Join(d.take(ctx, from, one), d.take(ctx, to, other)); err != nil {
		return nil, err
	}
	return lost(ctx, one, other)
}

// take copies what is on a disk now into a folder.
func (d *Disks) take(ctx context.Context, handle, into string) error {
	at, done, err := d.Folder.Look(ctx, handle)
	if err != nil {
		return err
	}
	_, err = program.In{}.Output(ctx, "cp", "-a", at, into)
	return errors.Join(err, done())
}

// lost says what of a folder another one has not, or has besides. It takes from journals there what was added to them.
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

// cut takes from a journal what is beyond the end of another one.
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
		return nil // it lacks something, which a comparison shows
	}
	return errors.Join(os.Truncate(journal, before.Size()), os.Chtimes(journal, before.ModTime(), before.ModTime()))
}
