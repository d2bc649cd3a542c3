package docker

import (
	"context"
	"io"

	"github.com/sliceshift/sliceshift/internal/program"
)

// Run runs docker with these arguments. An error holds docker's output.
func Run(ctx context.Context, args ...string) error {
	_, err := Output(ctx, args...)
	return err
}

// Output runs docker and returns its output, without the last line's end.
func Output(ctx context.Context, args ...string) (string, error) {
	return Feed(ctx, nil, args...)
}

// Feed is Output for a docker that reads stdin.
func Feed(ctx context.Context, stdin io.Reader, args ...string) (string, error) {
	return program.In{Stdin: stdin}.Output(ctx, "docker", args...)
}
