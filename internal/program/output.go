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

// In is where another program runs: in this process's folder and environment, unless it says more.
type In struct {
	Dir string
	// Env is added to the environment of this process.
	Env []string
	// Stdin is what it reads.
	Stdin io.Reader
}

// Output runs a program to its end and returns what it printed, without the last line break. An
// error holds the end of what it complained of.
func (in In) Output(ctx context.Context, name string, args ...string) (string, error) {
	var out, complaints bytes.Buffer
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir, cmd.Stdin, cmd.Stdout, cmd.Stderr = in.Dir, in.Stdin, &out, &complaints
	if len(in.Env) > 0 {
		cmd.Env = append(os.Environ(), in.Env...)
	}
	if err := cmd.Run(); err != nil {
		const told = 3 // of its arguments
		return "", fmt.Errorf("%s %s: %w: %s", name, strings.Join(args[:min(len(args), told)], " "), err, Tail(complaints.String()))
	}
	return strings.TrimRight(out.String(), "\n"), nil
}

// Tail keeps the end of what a program said: that is where the reason is.
func Tail(text string) string {
	const most = 2000
	text = strings.TrimSpace(text)
	if len(text) > most {
		text = "... " + text[len(text)-most:]
	}
	return text
}
