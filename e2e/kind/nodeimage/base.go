package nodeimage

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"

	"github.com/sliceshift/sliceshift/e2e/kind/docker"
)

// debian is the release that the nodes are: its systemd still knows the first kind of
// control groups.
const debian = "bookworm"

// packages are what a node is made of besides Kubernetes.
var packages = []string{
	"systemd", "systemd-sysv", "dbus", "util-linux", "mount", "kmod", "procps", "bash", "jq", "ca-certificates", "e2fsprogs",
	"containerd", "runc", "containernetworking-plugins", "libseccomp2",
	"iproute2", "iptables", "nftables", "conntrack", "ethtool", "socat", "iputils-ping", "curl",
}

// base returns an image of Debian with the packages, and makes it if it is not there: it
// changes far less often than the rest.
func (b *build) base(ctx context.Context) (string, error) {
	fingerprint, err := b.hash(b.sourceDir + "/base.go")
	if err != nil {
		return "", err
	}
	image := name + "-base:" + debian
	if isFresh(ctx, image, fingerprint) {
		return image, nil
	}
	if err := docker.Install(ctx, b.progress, "debootstrap", "debootstrap"); err != nil {
		return "", err
	}
	root := b.path("root")
	defer os.RemoveAll(root)
	fmt.Fprintf(b.progress, "fetching %d Debian packages and what they need\n", len(packages))
	args := []string{"--variant=minbase", "--include=" + strings.Join(packages, ","), debian, root}
	if mirror := os.Getenv("DEBIAN_MIRROR"); mirror != "" {
		args = append(args, mirror)
	}
	if output, err := exec.CommandContext(ctx, "debootstrap", args...).CombinedOutput(); err != nil {
		return "", fmt.Errorf("debootstrap (it must run as root; DEBIAN_MIRROR names another mirror): %w: %s", err, lastLines(output))
	}
	for _, unused := range []string{"var/cache/apt", "var/lib/apt/lists", "usr/share/doc", "usr/share/man", "usr/share/locale"} {
		if err := os.RemoveAll(b.path("root", unused)); err != nil {
			return "", err
		}
	}
	return image, importDir(ctx, root, image, "LABEL "+fingerprintLabel+"="+fingerprint, "ENV container=docker")
}

// importDir makes an image of a folder.
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

// lastLines is where a program says why it failed.
func lastLines(output []byte) string {
	lines := strings.Split(strings.TrimSpace(string(output)), "\n")
	const most = 8
	return strings.Join(lines[max(0, len(lines)-most):], "\n")
}
