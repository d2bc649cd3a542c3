// Command image builds the node image, or finds it again, and prints its name.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/sliceshift/sliceshift/e2e/kind"
	"github.com/sliceshift/sliceshift/e2e/kind/docker"
	"github.com/sliceshift/sliceshift/e2e/kind/nodeimage"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := build(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func build(ctx context.Context) (err error) {
	daemon, err := docker.Ensure(ctx, os.TempDir(), os.Stderr)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, daemon.Stop()) }()
	kindDir, err := kind.ModuleDir(ctx)
	if err != nil {
		return err
	}
	image, err := nodeimage.Build(ctx, kindDir, os.Stderr)
	if err != nil {
		return err
	}
	fmt.Println(image)
	return nil
}
