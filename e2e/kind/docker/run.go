package docker

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os/exec"
	"strings"
)

// Run runs docker with these arguments. An error holds what docker said.
func Run(ctx context.Context, args ...string) error {
	_, err := Output(ctx, args...)
	return err
}

// Output runs docker and returns what it printed, without the last line's end.
func Output(ctx context.Context, args ...string) (string, error) {
	return Feed(ctx, nil, args...)
}

// Feed is Output for a docker that reads stdin.
func Feed(ctx context.Context, stdin io.Reader, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "docker", args...)
	var stdout, stderr bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = stdin, &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("docker %s: %w: %s", strings.Join(args[:min(len(args), 3)], " "), err, tail(stderr.String()))
	}
	return strings.TrimRight(stdout.String(), "\n"), nil
}

// tail keeps the end of what a command said: that is where the reason is.
func tail(text string) string {
	const most = 2000
	text = strings.TrimSpace(text)
	if len(text) > most {
		text = "... " + text[len(text)-most:]
	}
	return text
}
