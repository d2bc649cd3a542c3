package program

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
)

// In is the environment of another program. By default, it is the directory and environment of this process.
type In struct {
	Dir string
	// Env is added to the environment of this process.
	Env []string
	// Stdin is the standard input.
	Stdin io.Reader
	// Stderr also receives the standard error.
	Stderr io.Writer
}

// Output runs a program to its end and returns its output without the last newline. An error contains the end of its
// standard error.
func (in In) Output(ctx context.Context, name string, args ...string) (string, error) {
	var out, complaints bytes.Buffer
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir, cmd.Stdin, cmd.Stdout, cmd.Stderr = in.Dir, in.Stdin, &out, &complaints
	if in.Stderr != nil {
		cmd.Stderr = io.MultiWriter(&complaints, in.Stderr)
	}
	if len(in.Env) > 0 {
		cmd.Env = append(os.Environ(), in.Env...)
	}
	if err := cmd.Run(); err != nil {
		const told = 3 // of its arguments
		return "", fmt.Errorf("%s %s: %w: %s", name, strings.Join(args[:min(len(args), told)], " "), err, Tail(complaints.String()))
	}
	return strings.TrimRight(out.String(), "\n"), nil
}

// Tail returns the end of a program's output, where the reason of an error is.
func Tail(text string) string {
	const most = 2000
	text = strings.TrimSpace(text)
	if len(text) > most {
		text = "... " + text[len(text)-most:]
	}
	return text
}
