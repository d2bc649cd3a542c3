package debian

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sliceshift/sliceshift/e2e/child"
	"github.com/sliceshift/sliceshift/e2e/kind/docker"
	"github.com/sliceshift/sliceshift/internal/program"
)

// alone runs a program in its own mount and process namespaces (unshare(1)). No other process sees its mounts, and
// they disappear with its last process. All these processes end with this process, however it ends.
var alone = []string{"unshare", "--mount", "--propagation", "private", "--pid", "--fork", "--kill-child", "--mount-proc"}

// unused are the folders that an image does not need.
var unused = []string{"var/cache/apt", "var/lib/apt/lists", "usr/share/doc", "usr/share/man", "usr/share/locale"}

// Bootstrap installs a minimal Debian of a release, with these packages and their dependencies, in a folder that must
// not exist yet. It needs root. If it is interrupted, it leaves files but no mounts.
func Bootstrap(ctx context.Context, progress io.Writer, release, root string, packages ...string) error {
	if err := docker.Install(ctx, progress, "debootstrap", "debootstrap"); err != nil {
		return err
	}
	args := slices.Concat(alone[1:], []string{"debootstrap", "--variant=minbase", "--include=" + strings.Join(packages, ","), release, root})
	if mirror := os.Getenv("DEBIAN_MIRROR"); mirror != "" {
		args = append(args, mirror)
	}
	if output, err := run(exec.CommandContext(ctx, alone[0], args...)); err != nil {
		return fmt.Errorf("debootstrap (it must run as root; DEBIAN_MIRROR names another mirror): %w: %s", err, program.Tail(output))
	}
	for _, each := range unused {
		if err := os.RemoveAll(filepath.Join(root, each)); err != nil {
			return err
		}
	}
	return nil
}

// run runs a program that ends with this process, and returns its output.
func run(cmd *exec.Cmd) (string, error) {
	var output bytes.Buffer
	cmd.Stdout, cmd.Stderr = &output, &output
	if err := child.Start(cmd); err != nil {
		return "", err
	}
	err := cmd.Wait()
	return output.String(), err
}
