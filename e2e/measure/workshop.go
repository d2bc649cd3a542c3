package measure

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/sliceshift/sliceshift/e2e/built"
	"github.com/sliceshift/sliceshift/internal/program"
)

// Workshop is the folder in which the programs of a run are built.
type Workshop struct {
	*Progress
	// Dir holds the programs, and is removed after the run.
	Dir string
}

// NewWorkshop creates the folder of a run, and returns a function that removes it.
func NewWorkshop(progress *Progress) (Workshop, func() error, error) {
	dir, err := os.MkdirTemp("", "sliceshift-bench-")
	return Workshop{Progress: progress, Dir: dir}, func() error { return os.RemoveAll(dir) }, err
}

// Command builds a command of this repository and returns its path.
func (w Workshop) Command(ctx context.Context, name string) (string, error) {
	w.Say("building %s", name)
	target := filepath.Join(w.Dir, name)
	return target, built.Command(ctx, name, target, "-ldflags=-s -w")
}

// Recipe is a program to build. Its flags and environment are those with which its packages were compiled before, so
// that only linking remains.
type Recipe struct {
	Name, Path string
	// Module is the folder of the module, if it is not this one.
	Module     string
	Flags, Env []string
}

// Build builds a program and returns its path.
func (w Workshop) Build(ctx context.Context, from Recipe) (string, error) {
	w.Say("building %s", from.Name)
	target := filepath.Join(w.Dir, from.Name)
	args := append([]string{"build", "-ldflags=-s -w", "-o", target}, from.Flags...)
	if _, err := (program.In{Dir: from.Module, Env: from.Env}).Output(ctx, "go", append(args, from.Path)...); err != nil {
		return "", fmt.Errorf("building %s: %w", from.Name, err)
	}
	return target, nil
}
