// Command build builds the control plane that the tests run, or finds an existing build.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"

	"github.com/sliceshift/sliceshift/e2e/cluster"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	path, err := cluster.Build(ctx, os.Stderr)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(path)
}
