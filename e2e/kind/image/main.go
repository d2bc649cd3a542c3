// Command image builds the node image, or finds an existing build, and prints its name. With -workload it builds the
// application of the tests instead, under that name.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"

	"github.com/sliceshift/sliceshift/e2e/kind"
	"github.com/sliceshift/sliceshift/e2e/kind/docker"
	"github.com/sliceshift/sliceshift/e2e/kind/nodeimage"
	"github.com/sliceshift/sliceshift/internal/program"
)

func main() {
	workload := flag.String("workload", "", "name of the workload's image, to be built instead of the node image")
	flag.Parse()
	program.Run("image", func(ctx context.Context) error { return build(ctx, *workload) })
}

func build(ctx context.Context, workload string) (err error) {
	daemon, err := docker.Ensure(ctx, os.TempDir(), os.Stderr)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, daemon.Stop()) }()
	if workload != "" {
		return buildWorkload(ctx, workload)
	}
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

func buildWorkload(ctx context.Context, image string) error {
	dir, err := os.MkdirTemp("", "sliceshift-workload-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	return kind.BuildWorkload(ctx, dir, image)
}
