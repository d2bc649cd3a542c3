// Command pair holds kind clusters that successive runs of tests borrow. When the clusters are up, it prints the
// environment that those tests need. It removes the clusters when it is interrupted, or when its input ends. So the
// process at the other end of a pipe keeps them for as long as it lives, however it ends.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/sliceshift/sliceshift/e2e/built"
	"github.com/sliceshift/sliceshift/e2e/kind"
	"github.com/sliceshift/sliceshift/internal/program"
)

type options struct{ hub, down, untilInputEnds bool }

func main() {
	var o options
	flag.BoolVar(&o.hub, "hub", false, "a third cluster as well, for a manager of its own")
	flag.BoolVar(&o.down, "down", false, "only remove the clusters that a killed run has left")
	flag.BoolVar(&o.untilInputEnds, "until-input-ends", false, "take them down when the standard input ends")
	flag.Parse()
	program.Run("pair", o.run)
}

func (o options) run(ctx context.Context) (err error) {
	dir, err := makeDir()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	if o.down {
		return kind.Sweep(ctx, dir, os.Stderr)
	}
	if o.untilInputEnds {
		held, release := context.WithCancel(ctx)
		defer release()
		go func() {
			_, _ = io.Copy(io.Discard, os.Stdin)
			release()
		}()
		ctx = held
	}
	up := kind.Up
	if o.hub {
		up = kind.UpWithHub
	}
	pair, err := up(ctx, dir, os.Stderr)
	if err != nil {
		return err
	}
	fmt.Println(pair.Lend())
	<-ctx.Done()
	return pair.Down(context.WithoutCancel(ctx))
}

// makeDir creates the folder that the clusters use, separate from that of any other run.
func makeDir() (string, error) {
	root, err := built.Module()
	if err != nil {
		return "", err
	}
	out := filepath.Join(root, "out")
	if err := os.MkdirAll(out, 0o755); err != nil {
		return "", err
	}
	return os.MkdirTemp(out, "kind-")
}
