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

// alone runs a program in mount and process namespaces of its own (unshare(1)): what it mounts nobody else sees, and is
// gone with the last of its processes; all of those end with this process, however that ends.
var alone = []string{"unshare", "--mount", "--propagation", "private", "--pid", "--fork", "--kill-child", "--mount-proc"}

// unused is what an image does without.
var unused = []string{"var/cache/apt", "var/lib/apt/lists", "usr/share/doc", "usr/share/man", "usr/share/locale"}

// Bootstrap makes a small Debian of a release, with these packages and what they need, in a folder that is not there
// yet. It needs root. Interrupted, it leaves files there and nothing that is mounted.
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

// run runs a program that ends with this process, and returns what it said.
func run(cmd *exec.Cmd) (string, error) {
	var output bytes.Buffer
	cmd.Stdout, cmd.Stderr = &output, &output
	if err := child.Start(cmd); err != nil {
		return "", err
	}
	err := cmd.Wait()
	return output.String(), err
}
