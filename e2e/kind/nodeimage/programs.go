package nodeimage

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/sliceshift/sliceshift/internal/program"
)

// binary is the file name of the program that contains every component.
const binary = "kubernetes"

// programs builds the programs of a node.
func (b *build) programs(ctx context.Context) error {
	ldflags := b.linkerFlags()
	if err := goBuild(ctx, b.controlDir, b.path(binary), "-tags", "node", "-ldflags", ldflags, "."); err != nil {
		return err
	}
	return goBuild(ctx, filepath.Join(b.sourceDir, "pause"), b.path("pause"), "-ldflags", "-s -w", ".")
}

// linkerFlags sets the version that every component reports: kubeadm compares them.
func (b *build) linkerFlags() string {
	flags := []string{"-s", "-w"}
	numbers := strings.Split(strings.TrimPrefix(b.version, "v"), ".")
	for _, pkg := range []string{"k8s.io/component-base/version", "k8s.io/client-go/pkg/version"} {
		flags = append(flags,
			fmt.Sprintf("-X %s.gitVersion=%s", pkg, b.version),
			fmt.Sprintf("-X %s.gitMajor=%s", pkg, numbers[0]),
			fmt.Sprintf("-X %s.gitMinor=%s", pkg, numbers[1]))
	}
	return strings.Join(flags, " ")
}

// goBuild builds a static binary.
func goBuild(ctx context.Context, dir, target string, args ...string) error {
	cmd := exec.CommandContext(ctx, "go", append([]string{"build", "-trimpath", "-o", target}, args...)...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off")
	if output, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("go build in %s: %w: %s", dir, err, program.Tail(string(output)))
	}
	return nil
}
