// Package mover compares the mover with rsync over TLS and with the least that any copy takes on this disk. The data
// is one large file, many small files, and a large file of which a part was changed in place.
//
// All of them read from a cold cache and end when the copy is on the disk. Only the mover reads both sides again and
// compares them; its time includes that. The least that takes is measured, too.
package mover

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/sliceshift/sliceshift/e2e/measure"
	"github.com/sliceshift/sliceshift/internal/loopback"
	"github.com/sliceshift/sliceshift/mover/link"
)

const (
	// limit bounds the whole run.
	limit = time.Hour
	// mostMemory is the limit of a mover's resident memory, in MiB.
	mostMemory = 128
)

// scene is one set of files to copy.
type scene struct {
	name, about string
	// prepare creates the source, and the existing files at the destination.
	prepare func(source, destination string) error
	// floor are the ways of the floor, of which the fastest counts.
	floor []way
	// many is true for many small files.
	many bool
	// goal is the factor by which ours must be faster than rsync.
	goal  float64
	times *times
}

// bench is one run.
type bench struct {
	measure.Workshop
	// dir is a folder on the disk to measure, or empty, and place the folder of this run in it.
	dir, place string
	mover      string
	// scale divides the sizes; files is the number of files of the scenario with very many.
	scale, files int
	figures      figures
	many         filesFigures
}

// Scenario declares the flags of the comparison.
func Scenario(set *flag.FlagSet) *measure.Scenario {
	b := &bench{}
	set.IntVar(&b.scale, "scale", 1, "divide all sizes by this")
	b.flags(set)
	f := &b.figures
	s := &measure.Scenario{
		Target: "bench-copy", Limit: limit, Begin: b.begin, Figures: f, Page: f.page,
		Show: func(out io.Writer) bool { return f.show(out) },
	}
	for i, each := range scenes(f) {
		s.Parts = append(s.Parts, measure.Part{Name: each.name, Run: func(ctx context.Context) error {
			f.Scale = max(b.scale, 1)
			return b.play(ctx, scenes(f)[i])
		}})
	}
	return s
}

// FilesScenario declares the flags of the scenario with very many files, which concerns memory.
func FilesScenario(set *flag.FlagSet) *measure.Scenario {
	b := &bench{}
	set.IntVar(&b.files, "files", 5_000_000, "how many empty files are copied")
	b.flags(set)
	return &measure.Scenario{
		Target: "bench-copy-files", Limit: limit, Begin: b.begin, Figures: &b.many, Page: b.many.page,
		Parts: []measure.Part{{Name: "files", Run: b.copyFiles}},
		Show: func(out io.Writer) bool {
			fmt.Fprintf(out, "%d files in %.0f s, peak %.0f MiB, goal %d MiB\n", b.many.Files, b.many.Seconds, b.many.Peak, mostMemory)
			return b.many.Peak <= mostMemory
		},
	}
}

func (b *bench) flags(set *flag.FlagSet) {
	set.StringVar(&b.dir, "dir", "", "a folder on the disk to measure; the system's temporary one by default")
}

func (b *bench) begin(ctx context.Context, w measure.Workshop) (end func() error, err error) {
	b.Workshop = w
	runtime.GOMAXPROCS(max(2*hands, runtime.GOMAXPROCS(0))) // the hands wait for the disk, and hold a thread meanwhile
	if b.mover, err = w.Command(ctx, "mover"); err != nil {
		return nil, err
	}
	b.place, err = os.MkdirTemp(b.dir, "bench-copy-")
	return func() error { return os.RemoveAll(b.place) }, err
}

// trial is a scene whose files exist.
type trial struct {
	*bench
	scene
	source, before string
	// runs counts the contenders that have run.
	runs int
}

// mostRounds is how often the floors are measured. The speed of a virtual disk varies, and a floor is the fastest way
// that was seen.
const mostRounds = 3

// play lets each contender copy the files of a scene. The floors run again as long as a program was faster.
func (b *bench) play(ctx context.Context, s scene) error {
	t := &trial{bench: b, scene: s, source: filepath.Join(b.place, s.name, "source"), before: filepath.Join(b.place, s.name, "before")}
	if err := errors.Join(os.MkdirAll(t.source, 0o755), os.MkdirAll(t.before, 0o755)); err != nil {
		return err
	}
	b.Say("%s: making the files", s.name)
	if err := s.prepare(t.source, t.before); err != nil {
		return err
	}
	if err := t.programs(ctx); err != nil {
		return err
	}
	for round := range mostRounds {
		if round > 0 && s.times.bound() == nil {
			break
		}
		if err := t.floors(ctx); err != nil {
			return err
		}
	}
	return errors.Join(s.times.bound(), os.RemoveAll(filepath.Join(b.place, s.name)))
}

// programs measures rsync and the mover.
func (t *trial) programs(ctx context.Context) (err error) {
	t.times.Rsync, _, err = t.run(ctx, way{name: "rsync", copy: rsync}, nil)
	if err != nil {
		return err
	}
	t.times.Ours, _, err = t.run(ctx, way{name: "ours", copy: func(ctx context.Context, source, destination string) (err error) {
		t.times.Verifying, err = t.ours(ctx, source, destination)
		return err
	}}, nil)
	return err
}

// floors measures each way of the floor: its copy, and then at once, as the mover does it, reading both sides.
func (t *trial) floors(ctx context.Context) error {
	for _, w := range t.floor {
		copied, read, err := t.run(ctx, w, func(destination string) error { return readBoth(ctx, w.part, t.source, destination) })
		if err != nil {
			return err
		}
		t.times.Floor, t.times.Proven = least(t.times.Floor, copied), least(t.times.Proven, copied+read)
	}
	return nil
}

// least returns the lesser of two times, of which the first is 0 before the first measurement.
func least(before, now float64) float64 {
	if before == 0 {
		return now
	}
	return min(before, now)
}

// run measures a way to copy the scene until the copy is on the disk, and a step right after that. It begins with a cold
// cache and a disk that has rested: virtual disks save up a burst while they are idle.
func (t *trial) run(ctx context.Context, w way, after func(destination string) error) (copied, more float64, err error) {
	t.runs++
	destination := filepath.Join(t.place, t.name, strconv.Itoa(t.runs))
	if err := errors.Join(duplicate(t.before, destination), cool(t.source), cool(destination), rest(ctx, idle/time.Duration(t.figures.Scale))); err != nil {
		return 0, 0, err
	}
	t.Say("%s: %s", t.name, w.name)
	copied, err = timed(func() error { return errors.Join(w.copy(ctx, t.source, destination), syncAll(destination)) })
	if err == nil && after != nil {
		t.Say("%s: reading both sides", t.name)
		more, err = timed(func() error { return after(destination) })
	}
	if err != nil {
		return 0, 0, fmt.Errorf("%s: %w", w.name, err)
	}
	if t.scene.many {
		return copied, more, nil // ext4 is slow to find an inode where many were deleted in the last minutes
	}
	return copied, more, os.RemoveAll(destination)
}

// idle is how long the disk rests before each contender at full size.
const idle = 15 * time.Second

func rest(ctx context.Context, lasts time.Duration) error {
	timer := time.NewTimer(lasts)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func timed(do func() error) (seconds float64, err error) {
	begin := time.Now()
	err = do()
	return time.Since(begin).Seconds(), err
}

// ours runs a sender and a receiver, and returns how long they compared.
func (b *bench) ours(ctx context.Context, source, destination string) (verifying float64, err error) {
	var keys [2]string
	var prints [2]link.Fingerprint
	for i, name := range []string{"sender", "receiver"} {
		keys[i] = filepath.Join(b.place, name)
		identity, err := link.LoadIdentity(keys[i])
		if err != nil {
			return 0, err
		}
		prints[i] = identity.Fingerprint
	}
	address, err := loopback.Address()
	if err != nil {
		return 0, err
	}
	none := filepath.Join(b.place, "termination-log")
	send := exec.CommandContext(ctx, b.mover, "send", "--root", source, "--listen", address, "--identity", keys[0], "--peer", string(prints[1]), "--termination-log", none+"-sender")
	receive := exec.CommandContext(ctx, b.mover, "receive", "--root", destination, "--connect", address, "--identity", keys[1], "--peer", string(prints[0]), "--termination-log", none)
	ended := make(chan error, 1)
	go func() { ended <- b.watched(send) }()
	if err := errors.Join(b.watched(receive), <-ended); err != nil {
		return 0, err
	}
	text, err := os.ReadFile(none)
	if err != nil {
		return 0, err
	}
	var result struct {
		Result    string  `json:"result"`
		Verifying float64 `json:"verifying"`
	}
	if err := json.Unmarshal(text, &result); err != nil {
		return 0, err
	}
	if result.Result != "Equal" {
		return 0, fmt.Errorf("the mover ended with %s", text)
	}
	return result.Verifying, nil
}

// watched runs a mover and records its peak memory.
func (b *bench) watched(cmd *exec.Cmd) error {
	var complaints strings.Builder
	cmd.Stderr = &complaints
	if err := cmd.Start(); err != nil {
		return err
	}
	stop, stopped := make(chan struct{}), make(chan float64, 1)
	go func() {
		const often = 20 * time.Millisecond
		tick := time.NewTicker(often)
		defer tick.Stop()
		peak := 0.0
		for {
			select {
			case <-stop:
				stopped <- peak
				return
			case <-tick.C:
				if now, err := measure.PeakMiB(cmd.Process.Pid); err == nil {
					peak = max(peak, now)
				}
			}
		}
	}()
	err := cmd.Wait()
	close(stop)
	peak := <-stopped
	peaks.Lock()
	b.figures.Peak = max(b.figures.Peak, peak)
	peaks.Unlock()
	if err != nil {
		return fmt.Errorf("%w: %s", err, complaints.String())
	}
	return nil
}
