package kind

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/sliceshift/sliceshift/e2e/kind/docker"
)

// BuildManager builds the image of the manager with the repository's Dockerfile. dir is for
// what is built on the way.
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
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags", "-s -w", "-o", filepath.Join(bin, "manager"), "./cmd/manager")
	cmd.Dir = root
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if output, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build the manager: %w: %s", err, output)
	}
	return docker.Run(ctx, "build", "--quiet", "--tag", image, "--file", filepath.Join(root, "Dockerfile"), bin)
}
