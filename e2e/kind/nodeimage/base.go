package nodeimage

import (
	"context"
	"fmt"
	"os"
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
	fmt.Fprintf(b.progress, "fetching %d Debian packages and their dependencies\n", len(packages))
	if err := debian.Bootstrap(ctx, b.progress, release, root, packages...); err != nil {
		return "", err
	}
	return image, docker.ImportDir(ctx, root, image, "LABEL "+fingerprintLabel+"="+fingerprint, "ENV container=docker")
}
