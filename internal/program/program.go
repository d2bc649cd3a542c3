// Package program runs the programs of this repository, and others for them.
package program

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

// Run runs a program to its end, or until it is interrupted. An error is printed behind the name, and
// ends the process with 1.
func Run(name string, run func(context.Context) error) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx)
	stop()
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
		os.Exit(1)
	}
}
