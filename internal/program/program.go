// Package program runs the programs of this repository, and others for them.
package program

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

// Run runs a function until it returns or the process is interrupted. After an error, it prints the name and the error, and
// exits with 1.
func Run(name string, run func(context.Context) error) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx)
	stop()
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
		os.Exit(1)
	}
}
