package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	mathrand "math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/sliceshift/sliceshift/e2e/kind/journal"
)

// replica is the application while it runs.
type replica struct {
	journals []*file
	by       journal.Writer
	mutex    sync.Mutex // guards journals
	stuck    atomic.Bool
}

// run writes until ctx ends, and then for the time LINGER.
func run(ctx context.Context, dirs []string) error {
	if err := trouble(ctx); err != nil {
		return err
	}
	by := journal.Writer{Pod: os.Getenv("OWNER"), UID: os.Getenv("POD_UID"), Node: os.Getenv("NODE_NAME")}
	if len(dirs) > 0 && (by.Pod == "" || by.UID == "" || by.Node == "") {
		return errors.New("OWNER, POD_UID and NODE_NAME must be set")
	}
	r := &replica{by: by}
	for _, dir := range dirs {
		opened, err := open(dir, by)
		if err != nil {
			return err
		}
		defer opened.Close()
		if err := opened.churn(dir, os.Getenv("CHURN")); err != nil {
			return err
		}
		r.journals = append(r.journals, opened)
	}
	if err := r.note(journal.Start); err != nil {
		return err
	}
	failed := make(chan error, 1)
	go func() { failed <- r.serve(dirs) }()
	return r.write(ctx, failed)
}

// trouble makes the start fail or slow, as the environment requests.
func trouble(ctx context.Context) error {
	switch reason := os.Getenv("CRASH"); reason {
	case "":
	case "out of memory":
		return hoard(ctx)
	default:
		return fmt.Errorf("crashing, as CRASH asks for: %s", reason)
	}
	delay, err := time.ParseDuration(or(os.Getenv("START_DELAY"), "0s"))
	if err != nil {
		return fmt.Errorf("START_DELAY: %w", err)
	}
	select {
	case <-time.After(delay):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// hoard allocates memory until the kernel kills the process.
func hoard(ctx context.Context) error {
	const piece, page = 1 << 20, 1 << 12
	var all [][]byte
	for ctx.Err() == nil {
		next := make([]byte, piece)
		for i := 0; i < piece; i += page {
			next[i] = 1
		}
		all = append(all, next)
	}
	return fmt.Errorf("ended with %d MiB: %w", len(all), ctx.Err())
}

// write appends a line a second, or at the interval TICK.
func (r *replica) write(ctx context.Context, failed <-chan error) error {
	often, err := time.ParseDuration(or(os.Getenv("TICK"), "1s"))
	if err != nil || often <= 0 {
		return fmt.Errorf("TICK must be a duration above 0: %q", os.Getenv("TICK"))
	}
	tick := time.NewTicker(often)
	defer tick.Stop()
	var end <-chan time.Time
	asked := ctx.Done()
	for {
		select {
		case <-tick.C:
			if err := r.note(journal.Tick); err != nil {
				return err
			}
		case <-asked:
			linger, err := time.ParseDuration(or(os.Getenv("LINGER"), "0s"))
			if err != nil {
				return fmt.Errorf("LINGER: %w", err)
			}
			asked, end = nil, time.After(linger)
		case <-end:
			return r.note(journal.Stop)
		case err := <-failed:
			return err
		}
	}
}

// note appends one line to each journal.
func (r *replica) note(note journal.Note) error {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	for _, each := range r.journals {
		if err := each.append(note, r.by); err != nil {
			return err
		}
	}
	return nil
}

func or(value, fallback string) string {
	if value == "" {
		return fallback
	}
	return value
}

// fileName is the name of the journal in its volume. violations is the file in which a process that met another writer
// leaves a line.
const (
	fileName   = "journal"
	bulkName   = "bulk"
	violations = "violations"
)

// file is a journal that only this process writes.
type file struct {
	*os.File
	last journal.Record
	// bulk is the file of which a block is overwritten with each line; may be nil.
	bulk *os.File
}

// churn opens the file of seed's BULK to overwrite blocks of it, unless asked is empty.
func (f *file) churn(dir, asked string) (err error) {
	if asked != "" {
		f.bulk, err = os.OpenFile(filepath.Join(dir, bulkName), os.O_WRONLY, 0)
	}
	return err
}

// overwrite overwrites a random block of the bulk.
func (f *file) overwrite() error {
	if f.bulk == nil {
		return nil
	}
	const size = 4 << 10
	about, err := f.bulk.Stat()
	if err != nil {
		return err
	}
	block := make([]byte, size)
	if _, err := rand.Read(block); err != nil {
		return err
	}
	_, err = f.bulk.WriteAt(block, mathrand.Int64N(about.Size()/size)*size)
	return err
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
	if err := f.overwrite(); err != nil {
		return err
	}
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
