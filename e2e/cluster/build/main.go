// Command build builds the control plane that the tests run, or finds an existing build.
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/sliceshift/sliceshift/e2e/cluster"
	"github.com/sliceshift/sliceshift/internal/program"
)

func main() {
	program.Run("control plane", func(ctx context.Context) error {
		path, err := cluster.Build(ctx, os.Stderr)
		if err == nil {
			fmt.Println(path)
		}
		return err
	})
}
