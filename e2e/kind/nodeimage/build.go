// Package nodeimage builds a node image for kind out of Go modules and Debian packages, for machines that reach no
// registry. One binary, built from the sources of Kubernetes, serves as every component of a cluster. containerd and
// runc are Debian's. The files that turn a container into a kind node come from kind's module.
//
//	base       debootstrap, imported as an image; rebuilt when the packages change
//	programs   go build: e2e/controlplane with the tag "node", and pause
//	parts      images of the control plane, kube-proxy and pause, saved as one archive
//	node       a container of the base, turned into a node, preloaded with the parts, committed
//
// It omits three parts of a kindest/node: CoreDNS, so pods cannot resolve names, kindnet, which one CNI configuration
// replaces, and the storage provisioner.
//
// The image has a label with the fingerprint of all its inputs, by which it is found.
package nodeimage

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/sliceshift/sliceshift/e2e/built"
	"github.com/sliceshift/sliceshift/e2e/kind/docker"
	"github.com/sliceshift/sliceshift/e2e/versions"
	"github.com/sliceshift/sliceshift/internal/program"
)

// recipe holds the inputs that determine an image.
type recipe struct {
	sourceDir string // this package
	// control is the version of Kubernetes. Every component reports its release: kubeadm compares them.
	control   versions.Version
	kindDir   string // kind's module
	goVersion string
}

func newRecipe(ctx context.Context, kindDir string) (r recipe, err error) {
	r.kindDir = kindDir
	if r.sourceDir, err = built.Module("e2e", "kind", "nodeimage"); err != nil {
		return r, err
	}
	if r.control, err = versions.Selected(); err != nil {
		return r, err
	}
	if !versions.NodePrograms.Has(r.control.Minor()) {
		return r, fmt.Errorf("no node image of Kubernetes %s: its kubelet does not compile here; set %s to another version, or E2E_KIND_IMAGE to an image", r.control.Number, versions.Variable)
	}
	r.goVersion, err = program.In{Dir: r.control.Module}.Output(ctx, "go", "env", "GOVERSION")
	return r, err
}

// fingerprint hashes the sources of this package, of the Debian below it and of the control plane, the versions of Go and
// of kind.
func (r recipe) fingerprint() (string, error) {
	own := []string{filepath.Join(r.sourceDir, "*"), filepath.Join(r.sourceDir, "pause", "*")}
	return r.hash(append(append(own, r.control.Program().Sources()...), r.bootstrap())...)
}

// bootstrap returns the path of the source that installs a Debian of packages.
func (r recipe) bootstrap() string { return filepath.Join(r.sourceDir, "..", "debian", "bootstrap.go") }

// hash returns a digest of the names and contents of the files of these patterns.
func (r recipe) hash(patterns ...string) (string, error) {
	sum, err := program.Fingerprint(fmt.Sprintf("%s\n%s\n%s\n", r.goVersion, filepath.Base(r.kindDir), runtime.GOARCH), patterns...)
	if err != nil {
		return "", fmt.Errorf("hash the sources of the node image: %w", err)
	}
	return sum, nil
}

// name of the image; the tag is the version of Kubernetes.
const name = "sliceshift/node"

// fingerprintLabel is the label by which a finished image is found.
const fingerprintLabel = "io.sliceshift.fingerprint"

// Build returns the node image. If no image of the same sources exists, Build builds it first, which takes about 8
// minutes with cold caches. kindDir is the folder of kind's module.
func Build(ctx context.Context, kindDir string, progress io.Writer) (string, error) {
	r, err := newRecipe(ctx, kindDir)
	if err != nil {
		return "", err
	}
	fingerprint, err := r.fingerprint()
	if err != nil {
		return "", err
	}
	image := name + ":" + r.control.Release
	if isFresh(ctx, image, fingerprint) {
		return image, nil
	}
	dir, err := os.MkdirTemp("", "sliceshift-node-")
	if err != nil {
		return "", fmt.Errorf("make a folder to build in: %w", err)
	}
	defer os.RemoveAll(dir)
	b := &build{recipe: r, dir: dir, progress: progress, image: image, fingerprint: fingerprint}
	return image, b.all(ctx)
}

// isFresh reports whether an image was built from the sources of this fingerprint.
func isFresh(ctx context.Context, image, fingerprint string) bool {
	label, err := docker.Output(ctx, "image", "inspect", "--format", `{{index .Config.Labels "`+fingerprintLabel+`"}}`, image)
	return err == nil && label == fingerprint
}

// build is the state of one image build.
type build struct {
	recipe
	dir         string // holds what is mounted into the container that becomes the node
	progress    io.Writer
	image       string
	fingerprint string
}

func (b *build) path(elements ...string) string {
	return filepath.Join(append([]string{b.dir}, elements...)...)
}

// all builds the image step by step and prints how long each step took.
func (b *build) all(ctx context.Context) error {
	var base string
	for _, step := range []struct {
		what string
		do   func() error
	}{
		{"base: Debian packages", func() (err error) { base, err = b.base(ctx); return err }},
		{"programs: Kubernetes and pause", func() error { return b.programs(ctx) }},
		{"parts: images of the control plane", func() error { return b.parts(ctx, base) }},
		{"node: put together", func() error { return b.node(ctx, base) }},
	} {
		begin := time.Now()
		if err := step.do(); err != nil {
			return fmt.Errorf("node image, %s: %w", step.what, err)
		}
		fmt.Fprintf(b.progress, "%-36s %6.1f s\n", step.what, time.Since(begin).Seconds())
	}
	return nil
}

// binary is the file name of the program that contains every component.
const binary = "kubernetes"

// programs builds the programs of a node.
func (b *build) programs(ctx context.Context) error {
	if err := goBuild(ctx, b.control.Module, b.path(binary), "-modfile", b.control.File, "-tags", "node", "-ldflags", b.control.Flags, "."); err != nil {
		return err
	}
	return goBuild(ctx, filepath.Join(b.sourceDir, "pause"), b.path("pause"), "-ldflags", "-s -w", ".")
}

// goBuild builds a static binary.
func goBuild(ctx context.Context, dir, target string, args ...string) error {
	in := program.In{Dir: dir, Env: []string{"CGO_ENABLED=0", "GOWORK=off"}}
	_, err := in.Output(ctx, "go", append([]string{"build", "-trimpath", "-o", target}, args...)...)
	return err
}
