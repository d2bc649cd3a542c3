// Package commandtest runs command lines in tests, in a process that the test controls.
package commandtest

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/sliceshift/sliceshift/cmd/migrate/command"
	"github.com/sliceshift/sliceshift/migration/view/viewtest"
)

// Noon is the time at which every test begins.
var Noon = viewtest.Noon

// Console is a simulated process: a command line, its streams, and its clock.
type Console struct {
	command.Environment
	Stdout, Stderr *bytes.Buffer
	Clock          *clocktesting.FakeClock
	// Root is the program, and groups are its commands.
	Root   *cobra.Command
	Groups []command.Group
}

// New returns a process with the commands of one group.
func New(commands command.Group, args ...string) *Console {
	streams, _, out, errOut := genericiooptions.NewTestIOStreams()
	c := &Console{Stdout: out, Stderr: errOut, Clock: clocktesting.NewFakeClock(Noon), Root: &cobra.Command{Use: "migrate"}, Groups: []command.Group{commands}}
	c.Environment = command.Environment{
		IOStreams: streams, Clock: c.Clock, Program: "migrate", Args: args,
		Getenv:      func(string) string { return "" },
		Hostname:    func() (string, error) { return "machine", nil },
		Width:       func() int { return 0 },
		Interactive: func() bool { return false },
		Interrupt:   func() {},
	}
	return c
}

// Execute executes the command line, and returns the exit code.
func (c *Console) Execute(ctx context.Context) int {
	return command.Execute(ctx, c.Environment, c.Root, c.Groups...)
}

// Run executes the command line to its end.
func (c *Console) Run(t *testing.T) int {
	t.Helper()
	return c.Execute(context.WithoutCancel(t.Context()))
}

// Expect runs the command line, and fails the test if the exit code or the output differs. Each stream must contain its
// text; an empty text means that the stream must be empty.
func (c *Console) Expect(t *testing.T, code int, stdout, stderr string) {
	t.Helper()
	if got := c.Run(t); got != code {
		t.Errorf("exit code %d, want %d", got, code)
	}
	for _, stream := range []struct{ name, got, want string }{{"stdout", c.Stdout.String(), stdout}, {"stderr", c.Stderr.String(), stderr}} {
		if !strings.Contains(stream.got, stream.want) || stream.want == "" && stream.got != "" {
			t.Errorf("%s %q, want %q", stream.name, stream.got, stream.want)
		}
	}
}

// Begin runs the command line in the background and ends it with the test, because closing a server waits for open
// watches.
func (c *Console) Begin(t *testing.T) (code <-chan int) {
	t.Helper()
	ended := make(chan int, 1)
	go func() { ended <- c.Execute(t.Context()) }()
	return ended
}

// Await waits until a condition holds. failed returns the message if it never does.
func Await(t *testing.T, holds func() bool, failed func() string) {
	t.Helper()
	const limit = 20 * time.Second
	err := wait.PollUntilContextTimeout(t.Context(), time.Millisecond, limit, true, func(context.Context) (bool, error) { return holds(), nil })
	if err != nil {
		t.Fatalf("%s: %v", failed(), err)
	}
}

// AwaitWaiting waits until the command waits on the clock.
func (c *Console) AwaitWaiting(t *testing.T) {
	t.Helper()
	Await(t, c.Clock.HasWaiters, func() string { return "the command does not wait" })
}

// PassTime advances the clock step by step until the command ends, and returns its exit code.
func (c *Console) PassTime(t *testing.T, code <-chan int, step time.Duration) (got int) {
	t.Helper()
	Await(t, func() bool {
		c.Clock.Step(step)
		select {
		case got = <-code:
			return true
		case <-time.After(10 * time.Millisecond): // gives the command time to react to the step
			return false
		}
	}, func() string { return "the command does not end" })
	return got
}

// InTemp runs a test in a new temporary directory. The returned function lists the files in it.
func InTemp(t *testing.T) (files func() []string) {
	t.Helper()
	dir := t.TempDir()
	t.Chdir(dir)
	return func() []string {
		entries, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, entry := range entries {
			names = append(names, filepath.Base(entry.Name()))
		}
		return names
	}
}
