package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"github.com/sliceshift/sliceshift/e2e/kind/journal"
)

// fileName is the name of the journal in its volume. violations is the file in which a process that met another writer
// leaves a line.
const (
	fileName   = "journal"
	violations = "violations"
)

// file is a journal that only this process writes.
type file struct {
	*os.File
	last journal.Record
}

// open locks the journal for this process and checks it. The pod must be new, or the one that wrote last.
func open(dir string, by journal.Writer) (*file, error) {
	opened, err := os.OpenFile(filepath.Join(dir, fileName), os.O_RDWR|os.O_APPEND, 0)
	if err != nil {
		return nil, fmt.Errorf("this is not the volume of %s: %w", by.Pod, err)
	}
	if err := syscall.Flock(int(opened.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return nil, errors.Join(fmt.Errorf("another process writes this journal: %w", err), opened.Close(), accuse(dir, by))
	}
	content, err := io.ReadAll(opened)
	if err != nil {
		return nil, errors.Join(err, opened.Close())
	}
	read, err := journal.Read(string(content), by.Pod)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("journal: %w", err), opened.Close())
	}
	wrote := func(run journal.Run) bool { return run.UID == by.UID }
	if i := slices.IndexFunc(read.Runs, wrote); i >= 0 && i < len(read.Runs)-1 {
		return nil, errors.Join(fmt.Errorf("pod %s was followed by another one and starts again", by.UID), opened.Close(), accuse(dir, by))
	}
	return &file{File: opened, last: read.Last}, nil
}

// append writes a line with one call and syncs it.
func (f *file) append(note journal.Note, by journal.Writer) error {
	next := f.last.Next(note, by, time.Now())
	if _, err := f.WriteString(next.String() + "\n"); err != nil {
		return err
	}
	f.last = next
	return f.Sync()
}

// accuse appends a line that outlives this process: an ordinal ran twice.
func accuse(dir string, by journal.Writer) error {
	opened, err := os.OpenFile(filepath.Join(dir, violations), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o666)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(opened, "%s pod %s uid %s on %s met another one\n", time.Now().UTC().Format(time.RFC3339Nano), by.Pod, by.UID, by.Node)
	return errors.Join(err, opened.Close())
}
