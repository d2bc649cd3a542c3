package nodeimage

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/sliceshift/sliceshift/e2e/kind/docker"
)

// archive holds the images that a node has from the start.
const archive = "parts.tar"

// parts builds the images that kubeadm and kind expect under their names, and saves them. The control plane, etcd and
// kube-proxy are one image of one binary.
func (b *build) parts(ctx context.Context, base string) error {
	wanted, err := b.imagesOfKubeadm(ctx)
	if err != nil {
		return err
	}
	sandbox, err := b.sandboxImage()
	if err != nil {
		return err
	}
	var control, pauses []string
	for _, image := range wanted {
		switch {
		case strings.Contains(image, "/pause:"):
			pauses = append(pauses, image)
		case !strings.Contains(image, "/coredns/"):
			control = append(control, image)
		}
	}
	pauses = append(pauses, sandbox)
	if err := b.controlImages(ctx, base, control); err != nil {
		return err
	}
	if err := b.pauseImages(ctx, pauses); err != nil {
		return err
	}
	all := slices.Concat(control, pauses)
	if err := docker.Run(ctx, append([]string{"save", "-o", b.path(archive)}, all...)...); err != nil {
		return err
	}
	return docker.Run(ctx, append([]string{"image", "rm"}, all...)...)
}

// imagesOfKubeadm returns kubeadm's list of the images of its version.
func (b *build) imagesOfKubeadm(ctx context.Context) ([]string, error) {
	output, err := exec.CommandContext(ctx, b.path(binary), "kubeadm", "config", "images", "list", "--kubernetes-version", b.control.Release).Output()
	if err != nil {
		return nil, fmt.Errorf("ask kubeadm for its images: %w", err)
	}
	return strings.Fields(string(output)), nil
}

var sandboxImage = regexp.MustCompile(`(?m)^\s*sandbox_image = "(\S+)"$`)

// sandboxImage returns the pause image that kind's containerd is configured with.
func (b *build) sandboxImage() (string, error) {
	file := filepath.Join(b.kindFiles(), "etc", "containerd", "config.toml")
	content, err := os.ReadFile(file)
	if err != nil {
		return "", fmt.Errorf("read containerd's configuration: %w", err)
	}
	found := sandboxImage.FindSubmatch(content)
	if found == nil {
		return "", fmt.Errorf("%s sets no sandbox_image", file)
	}
	return string(found[1]), nil
}

func (b *build) kindFiles() string { return filepath.Join(b.kindDir, "images", "base", "files") }

// controlImages builds the image of the binary, with the programs that kube-proxy calls, under every name.
func (b *build) controlImages(ctx context.Context, base string, names []string) error {
	root := b.path("control")
	defer os.RemoveAll(root)
	bin := filepath.Join(root, "usr", "local", "bin")
	if err := os.MkdirAll(bin, 0o755); err != nil {
		return err
	}
	if err := os.Link(b.path(binary), filepath.Join(bin, binary)); err != nil {
		return err
	}
	for _, role := range []string{"etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kube-proxy", "kubectl"} {
		if err := os.Symlink(binary, filepath.Join(bin, role)); err != nil {
			return err
		}
	}
	if err := b.firewall(ctx, base, root); err != nil {
		return err
	}
	return importAs(ctx, root, names, "ENV PATH=/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin")
}

// firewall copies the firewall programs of the base, and their libraries, for kube-proxy.
func (b *build) firewall(ctx context.Context, base, root string) error {
	return docker.Run(ctx, "run", "--rm", "--network=none", "-v", b.sourceDir+":/source:ro", "-v", root+":/out", base, "bash", "/source/firewall.sh")
}

func (b *build) pauseImages(ctx context.Context, names []string) error {
	root := b.path("pause-root")
	defer os.RemoveAll(root)
	if err := os.MkdirAll(root, 0o755); err != nil {
		return err
	}
	if err := os.Link(b.path("pause"), filepath.Join(root, "pause")); err != nil {
		return err
	}
	return importAs(ctx, root, names, `ENTRYPOINT ["/pause"]`)
}

// importAs imports a folder as an image with several names.
func importAs(ctx context.Context, root string, names []string, change string) error {
	if err := docker.ImportDir(ctx, root, names[0], change); err != nil {
		return err
	}
	for _, other := range names[1:] {
		if err := docker.Run(ctx, "tag", names[0], other); err != nil {
			return err
		}
	}
	return nil
}

// node turns a container of the base into a node and commits it as the image. The container has the stop signal of
// systemd, because the image inherits it.
func (b *build) node(ctx context.Context, base string) (err error) {
	id, err := docker.Output(ctx, "run", "-d", "--network=none", "--security-opt", "seccomp=unconfined",
		"--stop-signal", "SIGRTMIN+3", "--label", fingerprintLabel+"="+b.fingerprint,
		"-v", b.dir+":/build:ro", "-v", b.sourceDir+":/source:ro", "-v", b.kindFiles()+":/kind-files:ro",
		base, "sleep", "infinity")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, docker.Run(context.WithoutCancel(ctx), "rm", "-f", "-v", id)) }()
	if err := docker.Run(ctx, "exec", id, "bash", "/source/node.sh", b.control.Release); err != nil {
		return err
	}
	old, _ := docker.Output(ctx, "image", "inspect", "--format", "{{.Id}}", b.image)
	const entrypoint = `ENTRYPOINT ["/usr/local/bin/entrypoint","/sbin/init"]`
	if err := docker.Run(ctx, "commit", "--change", entrypoint, id, b.image); err != nil {
		return err
	}
	if old != "" { // a cluster may still use it: then it remains until it is pruned
		if err := docker.Run(ctx, "image", "rm", old); err != nil {
			fmt.Fprintln(b.progress, "the image before this one is still in use:", err)
		}
	}
	return nil
}
