package kind

import (
	"context"
	"os"
	"path/filepath"

	"github.com/sliceshift/sliceshift/e2e/kind/docker"
)

// BuildManager builds the image of the manager with the repository's Dockerfile. dir is for intermediate files.
func BuildManager(ctx context.Context, dir, image string) error {
	source, err := SourceDir()
	if err != nil {
		return err
	}
	root := filepath.Dir(filepath.Dir(source))
	bin := filepath.Join(dir, "manager-image")
	if err := os.MkdirAll(bin, 0o755); err != nil {
		return err
	}
	for _, name := range []string{"manager", "mover"} {
		if err := buildStatic(ctx, filepath.Join(root, "cmd", name), filepath.Join(bin, name)); err != nil {
			return err
		}
	}
	return docker.Run(ctx, "build", "--quiet", "--tag", image, "--file", filepath.Join(root, "Dockerfile"), bin)
}
