// Command build builds the sidecars of the tests' CSI driver and its conformance test, or finds existing builds.
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/sliceshift/sliceshift/e2e/csi/sidecar"
	"github.com/sliceshift/sliceshift/internal/program"
)

func main() {
	program.Run("sidecars", func(ctx context.Context) error {
		for _, name := range append(sidecar.All(), sidecar.Sanity) {
			path, err := sidecar.Build(ctx, name, os.Stderr)
			if err != nil {
				return err
			}
			fmt.Println(path)
		}
		return nil
	})
}
