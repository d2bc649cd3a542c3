package nodeimage

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/sliceshift/sliceshift/e2e/kind/debian"
	"github.com/sliceshift/sliceshift/e2e/kind/docker"
)

// release is the Debian release of the nodes: its systemd still supports version 1 of control groups.
const release = "bookworm"

// packages are the Debian packages of a node; Kubernetes is added separately.
var packages = []string{
	"systemd", "systemd-sysv", "dbus", "util-linux", "mount", "kmod", "procps", "bash", "jq", "ca-certificates", "e2fsprogs",
	"containerd", "runc", "containernetworking-plugins", "libseccomp2",
	"iproute2", "iptables", "nftables", "conntrack", "ethtool", "socat", "iputils-ping", "curl",
}

// base returns an image of Debian with the packages, and builds it if it does not exist. It changes far less often
// than the rest.
func (b *build) base(ctx context.Context) (string, error) {
	fingerprint, err := b.hash(filepath.Join(b.sourceDir, "base.go"), b.bootstrap())
	if err != nil {
		return "", err
	}
	image := name + "-base:" + release
	if isFresh(ctx, image, fingerprint) {
		return image, nil
	}
	root := b.path("root")
	defer os.RemoveAll(root)
	fmt.Fprintf(b.progress, "fetching %d Debian packages and what they need\n", len(packages))
	if err := debian.Bootstrap(ctx, b.progress, release, root, packages...); err != nil {
		return "", err
	}
	return image, importDir(ctx, root, image, "LABEL "+fingerprintLabel+"="+fingerprint, "ENV container=docker")
}

// importDir imports a folder as an image.
func importDir(ctx context.Context, dir, image string, changes ...string) error {
	tar := exec.CommandContext(ctx, "tar", "-C", dir, "--numeric-owner", "-c", ".")
	stream, err := tar.StdoutPipe()
	if err != nil {
		return err
	}
	if err := tar.Start(); err != nil {
		return fmt.Errorf("pack %s: %w", dir, err)
	}
	args := []string{"import"}
	for _, change := range changes {
		args = append(args, "--change", change)
	}
	if _, err := docker.Feed(ctx, stream, append(args, "-", image)...); err != nil {
		_ = tar.Wait()
		return err
	}
	return tar.Wait()
}
