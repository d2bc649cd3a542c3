// Command migrate moves a running StatefulSet to another cluster or namespace, one
// ordinal at a time. It runs the engine in its own process (run), or writes and
// steers the Migrations that a manager runs (create, pause, resume, rollback).
// Installed as kubectl-migrate it is "kubectl migrate".
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	"golang.org/x/term"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/sliceshift/sliceshift/cmd/migrate/command"
	"github.com/sliceshift/sliceshift/cmd/migrate/explain"
	"github.com/sliceshift/sliceshift/cmd/migrate/install"
	"github.com/sliceshift/sliceshift/cmd/migrate/move"
	"github.com/sliceshift/sliceshift/cmd/migrate/slice"
)

func main() {
	// The logs of client libraries repeat the messages of commands, and would corrupt the progress bar.
	klog.SetLogger(logr.Discard())
	ctrl.SetLogger(logr.Discard())

	ctx, stop := signal.NotifyContext(context.Background(), endings()...)
	// The first signal requests a stop; a second one ends the process at once.
	context.AfterFunc(ctx, stop)
	// The reader of the output may exit first, as tee does at ^C. That must not kill the process during a write of the
	// move. Writing to the pipe then returns an error.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	env := command.Environment{
		IOStreams:   genericiooptions.IOStreams{In: os.Stdin, Out: os.Stdout, ErrOut: os.Stderr},
		Clock:       clock.RealClock{},
		Program:     command.ProgramName(os.Args[0]),
		Args:        os.Args[1:],
		Getenv:      os.Getenv,
		Hostname:    os.Hostname,
		Width:       func() int { return widthOf(os.Stdout) },
		Interactive: func() bool { return term.IsTerminal(int(os.Stdin.Fd())) && term.IsTerminal(int(os.Stderr.Fd())) },
		Interrupt:   interrupt,
	}
	os.Exit(command.Execute(ctx, env, newRoot(), groups...))
}

// endings lists the signals that end a command once no write is in progress. A terminal that closes sends SIGHUP. A
// detached run and a command under nohup ignore it.
func endings() []os.Signal {
	signals := []os.Signal{os.Interrupt, syscall.SIGTERM}
	switch {
	case os.Getenv(move.DetachedKey) != "":
		signal.Ignore(syscall.SIGHUP)
	case !signal.Ignored(syscall.SIGHUP):
		signals = append(signals, syscall.SIGHUP)
	}
	return signals
}

// interrupt sends an interrupt signal to this process.
func interrupt() {
	if process, err := os.FindProcess(os.Getpid()); err == nil {
		_ = process.Signal(os.Interrupt)
	}
}

// widthOf returns the width of the terminal of a file, or 0 if it is not a terminal.
func widthOf(file *os.File) int {
	fd := int(file.Fd())
	if !term.IsTerminal(fd) {
		return 0
	}
	width, _, err := term.GetSize(fd)
	if err != nil {
		return 0
	}
	return width
}

const rootHelp = `Moves a running StatefulSet to another Kubernetes cluster or namespace, one
ordinal at a time, while the application keeps running.

Each replica is stopped at the source, its volumes are carried over, and it is
started at the destination, never more of them at once than the disruption budget
allows. A move can be interrupted and continued, paused, and rolled back.

Exit codes: 0 done, 1 error, 2 usage, 3 stalled or refused, 4 timeout.`

const rootExamples = `  # What would be done, and what stands in the way
  migrate plan web -n shop --context east --to-context west

  # Do it from here; nothing needs to be installed in either cluster
  migrate run web -n shop --context east --to-context west

  # Watch, pause, continue, roll everything back: from another terminal
  migrate status web -n shop --context east -w
  migrate pause web -n shop --context east
  migrate resume web -n shop --context east
  migrate rollback web -n shop --context east --wait

  # The destination is lost for good: the state of each disk, and the way back
  migrate recover web -n shop --context east --dry-run`

// groups are the commands of the program.
var groups = []command.Group{move.Commands, explain.Commands, slice.Commands, install.Commands, ownCommands}

// newRoot returns the root command without subcommands.
func newRoot() *cobra.Command {
	return &cobra.Command{
		Use:     "migrate",
		Short:   "Move a running StatefulSet to another cluster or namespace",
		Long:    rootHelp,
		Example: rootExamples,
	}
}
