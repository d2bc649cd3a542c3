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
	"golang.org/x/term"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
)

func main() {
	// What the client libraries log says nothing that a verb does not say, and would
	// run through the progress bar.
	klog.SetLogger(logr.Discard())
	ctrl.SetLogger(logr.Discard())

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	// The first signal asks to stop; a second one ends the process at once.
	context.AfterFunc(ctx, stop)
	env := environment{
		IOStreams: genericiooptions.IOStreams{In: os.Stdin, Out: os.Stdout, ErrOut: os.Stderr},
		clock:     clock.RealClock{},
		program:   programName(os.Args[0]),
		args:      os.Args[1:],
		getenv:    os.Getenv,
		hostname:  os.Hostname,
		width:     func() int { return widthOf(os.Stdout) },
		asks:      func() bool { return term.IsTerminal(int(os.Stdin.Fd())) && term.IsTerminal(int(os.Stderr.Fd())) },
	}
	os.Exit(execute(ctx, env, newRoot(), groups...))
}

// widthOf is the width of the terminal that a file is, or 0.
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
