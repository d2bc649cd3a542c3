// Package downtime measures how long one ordinal is out during a move, on two embedded clusters that share a storage
// backend of loop devices (e2e/csi). The driver takes a set time to attach and to detach a disk: 0 and 2 s.
//
// An outage lasts from when the ordinal's pod is terminated, or not Ready, until its pod at the destination is Ready. The
// benchmark takes it from watches of its own, not from the Migration, and fails if the Migration records another outage.
// Three contenders stop and start the same pod with the same data:
//
//	sliceshift  the engine in this process, as "migrate run" drives it
//	restart     a rolling restart by the native controller, on the same node: the floor
//	script      move.sh: bash and kubectl, and pods that run rsync
//
// By method Copy it moves 8 MiB, and 2 GiB of which 1 % is changed after the last pass before the stop. The script copies
// the 2 GiB once before it stops the pod, and the 8 MiB only afterwards, as most people do. A flag sets another size than
// 2 GiB.
//
// It needs root, loop devices, mkfs.ext4, rsync, and 10 GiB in the folder for temporary files. It leaves nothing there.
package downtime

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"runtime"
	"time"

	"github.com/sliceshift/sliceshift/e2e/measure"
)

// attaches are the times that the driver takes to attach or to detach a disk.
var attaches = []time.Duration{0, 2 * time.Second}

// bench is one run.
type bench struct {
	measure.Workshop
	// rounds is how often each quick scene is played where a disk is attached at once.
	rounds int
	// verify is spec.volumes.copy.verify; empty is the default.
	verify string

	bed     *bed
	script  *script
	figures figures
}

// Scenario declares the flags.
func Scenario(set *flag.FlagSet) *measure.Scenario {
	b := &bench{}
	set.IntVar(&b.rounds, "rounds", usualRounds, "how often the scenes with little data are played where a disk is attached at once")
	set.Int64Var(&b.figures.LargeMiB, "large", usualLarge, "the MiB of data of which a part is changed before the stop")
	set.StringVar(&b.verify, "verify", "", "copy.verify of the Migrations; the default of the product if empty")
	s := &measure.Scenario{
		Target: "bench-downtime", Limit: 20 * time.Minute, Begin: b.begin,
		Done:    func(seconds float64) { b.figures.Cores, b.figures.Seconds = runtime.NumCPU(), seconds },
		Figures: &b.figures, Page: b.figures.page, Usual: func() bool { return b.rounds == usualRounds && b.verify == "" && b.figures.LargeMiB == usualLarge },
		Show: func(out io.Writer) bool { return measure.Show(out, b.figures.rows()) },
	}
	for i, each := range scenes(usualLarge) { // the flags are not parsed yet
		s.Parts = append(s.Parts, measure.Part{Name: each.name, Run: func(ctx context.Context) error { return b.play(ctx, scenes(b.figures.LargeMiB)[i]) }})
	}
	return s
}

const usualRounds = 3

func (b *bench) begin(ctx context.Context, w measure.Workshop) (end func() error, err error) {
	if os.Geteuid() != 0 {
		return nil, errors.New("the disks of this benchmark are loop devices: run it as root")
	}
	if b.figures.LargeMiB < 1 {
		return nil, fmt.Errorf("-large is %d MiB, must be at least 1", b.figures.LargeMiB)
	}
	b.Workshop = w
	w.Say("starting two clusters that share a storage backend")
	if b.bed, err = newBed(ctx, w); err != nil {
		return nil, err
	}
	if b.script, err = newScript(ctx, w, b.bed); err != nil {
		return nil, errors.Join(err, b.bed.stop())
	}
	return b.bed.stop, nil
}

// play plays a scene with each time to attach a disk.
func (b *bench) play(ctx context.Context, s scene) error {
	for _, attach := range attaches {
		b.bed.attachIn(attach)
		rounds := s.rounds(b.rounds, attach)
		var all samples
		for round := range rounds {
			b.Say("%s, a disk is attached in %s, round %d of %d", s.name, attach, round+1, rounds)
			played, err := b.round(ctx, turn{scene: s, attach: attach, round: round, restarts: max(1, usualRounds/rounds)})
			if err != nil {
				return fmt.Errorf("a disk is attached in %s: %w", attach, err)
			}
			all.add(played)
		}
		b.figures.take(s.name, attach, all)
	}
	return nil
}

// turn is one round of a scene.
type turn struct {
	scene  scene
	attach time.Duration
	round  int
	// restarts is how often the pod is restarted.
	restarts int
}

// round plays both contenders, each with an application of its own, in another order each round.
func (b *bench) round(ctx context.Context, t turn) (samples, error) {
	var all samples
	contenders := []func(context.Context, turn) (samples, error){b.ours, b.theirs}
	for i := range contenders {
		played, err := contenders[(i+t.round)%len(contenders)](ctx, t)
		if err != nil {
			return all, err
		}
		all.add(played)
	}
	return all, nil
}
