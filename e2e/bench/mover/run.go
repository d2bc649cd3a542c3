// Package mover compares the mover with rsync over TLS and with the minimum that any copy requires, on one
// machine. The data is one large file, many small files, and a large file of which a part was changed in place.
//
// All three read from a cold cache and end when the copy is on the disk. Only the mover reads both sides again and
// compares them; its time includes that.
package mover

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"time"

	"github.com/sliceshift/sliceshift/e2e/measure"
	pages "github.com/sliceshift/sliceshift/internal/figures"
)

const (
	// limit bounds the whole run.
	limit = time.Hour
	// mostMemory is the limit of a mover's resident memory, in MiB.
	mostMemory = 128
)

// options are the flags.
type options struct {
	scale, files int
	dir, only    string
}

// Flags declares the flags, and returns the run.
func Flags(set *flag.FlagSet) measure.Run {
	var o options
	set.IntVar(&o.scale, "scale", 1, "divide all sizes by this")
	set.StringVar(&o.dir, "dir", "", "a folder on the disk to measure; the system's temporary one by default")
	set.IntVar(&o.files, "files", 0, "copy only this many empty files, to measure the memory of movers")
	set.StringVar(&o.only, "only", "", "one scene: big, small or delta")
	return func(ctx context.Context) error { return run(ctx, o) }
}

// times are seconds.
type times struct {
	Ours  float64 `json:"ours"`
	Rsync float64 `json:"rsync"`
	Floor float64 `json:"floor"`
	// Verifying is the part of Ours that compares both sides.
	Verifying float64 `json:"verifying"`
}

// figures are the results in the file.
type figures struct {
	// Scale divides the sizes: 1 is the full size.
	Scale int   `json:"scale"`
	Big   times `json:"big"`
	Small times `json:"small"`
	Delta times `json:"delta"`
	// Peak is the highest resident memory of a mover (VmHWM).
	Peak float64 `json:"mover_peak_mib"`
}

// scene is one set of files to copy.
type scene struct {
	name, about string
	// prepare creates the source, and the existing files at the destination.
	prepare func(source, destination string) error
	// many is true for many small files.
	many bool
	// goal is the factor by which ours must be faster than rsync.
	goal  float64
	times *times
}

func run(ctx context.Context, o options) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	workshop, remove, err := measure.NewWorkshop(measure.NewProgress(os.Stderr))
	if err != nil {
		return err
	}
	defer func() { _ = remove() }()
	mover, err := workshop.Command(ctx, "mover")
	if err != nil {
		return err
	}
	place, err := os.MkdirTemp(o.dir, "bench-copy-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(place) }()
	f := figures{Scale: max(o.scale, 1)}
	b := &bench{Workshop: workshop, mover: mover, place: place, peak: &f.Peak}
	if o.files > 0 {
		return b.onlyFiles(ctx, o)
	}
	return b.all(ctx, o, &f)
}

// all plays the scenes, or the requested scene.
func (b *bench) all(ctx context.Context, o options, f *figures) error {
	for _, s := range scenes(f) {
		if o.only != "" && s.name != o.only {
			continue
		}
		if err := b.play(ctx, s); err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
	}
	if o.only == "" {
		if err := errors.Join(measure.WriteJSON("bench-copy", f), pages.Write("bench-copy", f.page())); err != nil {
			return err
		}
	}
	if !f.show(os.Stdout, o.only) {
		return measure.ErrMissed
	}
	return nil
}

// onlyFiles copies very many files.
func (b *bench) onlyFiles(ctx context.Context, o options) error {
	f, err := b.files(ctx, o.files)
	if err != nil {
		return err
	}
	fmt.Printf("%d files in %.0f s, peak %.0f MiB, goal %d MiB\n", f.Files, f.Seconds, f.Peak, mostMemory)
	if err := errors.Join(measure.WriteJSON("bench-copy-files", f), pages.Write("bench-copy-files", f.page())); err != nil {
		return err
	}
	if f.Peak > mostMemory {
		return measure.ErrMissed
	}
	return nil
}
