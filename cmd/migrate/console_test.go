package main

import (
	"bytes"
	"context"
	"flag"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	clocktesting "k8s.io/utils/clock/testing"
)

var update = flag.Bool("update", false, "write the golden files of testdata")

// golden compares text with a file of testdata.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got; go test -update writes it):\n%s", path, diff)
	}
}

// noon is when every test begins.
var noon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

// console is a process of a test: a command line, its streams, and its clock.
type console struct {
	environment
	out, err *bytes.Buffer
	clock    *clocktesting.FakeClock
	// root is the program, and groups are the commands that it has.
	root   *cobra.Command
	groups []group
}

// newConsole is a process with the commands of one group.
func newConsole(commands group, args ...string) *console {
	streams, _, out, errOut := genericiooptions.NewTestIOStreams()
	c := &console{out: out, err: errOut, clock: clocktesting.NewFakeClock(noon), root: &cobra.Command{Use: "migrate"}, groups: []group{commands}}
	c.environment = environment{
		IOStreams: streams, clock: c.clock, program: "migrate", args: args,
		getenv:   func(string) string { return "" },
		hostname: func() (string, error) { return "machine", nil },
		width:    func() int { return 0 },
		asks:     func() bool { return false },
	}
	return c
}

// execute executes the command line, and returns the exit code.
func (c *console) execute(ctx context.Context) int {
	return execute(ctx, c.environment, c.root, c.groups...)
}

// run executes the command line to its end.
func (c *console) run(t *testing.T) int {
	t.Helper()
	return c.execute(context.WithoutCancel(t.Context()))
}

// begin executes the command line beside the test, and ends it with the test: the
// server that is closed then waits for what is watched.
func (c *console) begin(t *testing.T) (code <-chan int) {
	t.Helper()
	ended := make(chan int, 1)
	go func() { ended <- c.execute(t.Context()) }()
	return ended
}

// await looks until a condition holds. failed says what is wrong when it never does.
func await(t *testing.T, holds func() bool, failed func() string) {
	t.Helper()
	const limit = 20 * time.Second
	err := wait.PollUntilContextTimeout(t.Context(), time.Millisecond, limit, true, func(context.Context) (bool, error) { return holds(), nil })
	if err != nil {
		t.Fatalf("%s: %v", failed(), err)
	}
}

// awaitWaiting waits until the command waits for time to pass.
func (c *console) awaitWaiting(t *testing.T) {
	t.Helper()
	await(t, c.clock.HasWaiters, func() string { return "the command does not wait" })
}

// passTime lets time pass, step by step, until the command ends, and returns its exit
// code.
func (c *console) passTime(t *testing.T, code <-chan int, step time.Duration) (got int) {
	t.Helper()
	await(t, func() bool {
		c.clock.Step(step)
		select {
		case got = <-code:
			return true
		case <-time.After(10 * time.Millisecond): // what the step has set off takes its time
			return false
		}
	}, func() string { return "the command does not end" })
	return got
}

// inTemp runs a test in a directory of its own, and says which files it leaves there.
func inTemp(t *testing.T) (files func() []string) {
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
