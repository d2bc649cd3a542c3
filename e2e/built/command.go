package built

import (
	"context"
	"fmt"

	"github.com/sliceshift/sliceshift/internal/program"
)

// Command builds a command of the product into a file, with the dependencies of the product and not those of the tests.
func Command(ctx context.Context, name, file string, flags ...string) error {
	root, err := Module()
	if err != nil {
		return err
	}
	args := append([]string{"build", "-o", file}, flags...)
	if _, err := (program.In{Dir: root}).Output(ctx, "go", append(args, "./cmd/"+name)...); err != nil {
		return fmt.Errorf("build %s: %w", name, err)
	}
	return nil
}
