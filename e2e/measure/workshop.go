package measure

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/sliceshift/sliceshift/internal/program"
)

// Workshop is where the programs of a run are built.
type Workshop struct {
	*Progress
	// Dir holds the programs, and goes away with the run.
	Dir string
}

// NewWorkshop makes the folder of a run; what it returns with it removes it.
func NewWorkshop(progress *Progress) (Workshop, func() error, error) {
	dir, err := os.MkdirTemp("", "sliceshift-bench-")
	return Workshop{Progress: progress, Dir: dir}, func() error { return os.RemoveAll(dir) }, err
}

// Command builds a command of this repository and returns its path.
func (w Workshop) Command(ctx context.Context, name string) (string, error) {
	return w.Build(ctx, Recipe{Name: name, Path: "github.com/sliceshift/sliceshift/cmd/" + name})
}

// Recipe is a program to build. Its flags and environment are those with which its
// packages have been compiled before, so that only linking is left.
type Recipe struct {
	Name, Path string
	// Module is the folder of another module than this one.
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
