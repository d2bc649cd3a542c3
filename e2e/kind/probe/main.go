// Command probe reports whether docker can run nodes on this machine. It installs and starts docker if needed. It runs
// a container with the rights that a node requests, which mounts a file system as a node does. If a step fails, it
// exits with 1 and the reason.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"

	"github.com/sliceshift/sliceshift/e2e/built"
	"github.com/sliceshift/sliceshift/e2e/kind"
	"github.com/sliceshift/sliceshift/e2e/kind/docker"
	"github.com/sliceshift/sliceshift/internal/program"
)

// inside is the argument of the program in the container.
const inside = "inside"

func main() {
	if len(os.Args) > 1 && os.Args[1] == inside {
		if err := mountSomething(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	program.Run("docker cannot be had", probe)
}

func probe(ctx context.Context) (err error) {
	dir, err := os.MkdirTemp("", "sliceshift-probe-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	host, err := docker.Inspect()
	if err != nil {
		return err
	}
	daemon, err := docker.Ensure(ctx, dir, os.Stderr)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, daemon.Stop()) }()
	return runContainer(ctx, host, dir)
}

func runContainer(ctx context.Context, host docker.Host, dir string) error {
	const image = "sliceshift/probe:latest"
	source, err := built.Module("e2e", "kind", "probe")
	if err != nil {
		return err
	}
	if err := kind.BuildImage(ctx, dir, source, image); err != nil {
		return err
	}
	env, err := host.Environment(dir + "/bin")
	if err != nil {
		return err
	}
	// sh looks docker up in that PATH.
	if _, err := (program.In{Env: env}).Output(ctx, "sh", "-c", "exec docker run --rm --privileged --tmpfs /run "+image+" "+inside); err != nil {
		return fmt.Errorf("run a container: %w", err)
	}
	return docker.Run(ctx, "image", "rm", image)
}

func mountSomething() error {
	if err := syscall.Mount("tmpfs", "/run", "tmpfs", 0, ""); err != nil {
		return fmt.Errorf("mount a file system in the container: %w", err)
	}
	return nil
}
