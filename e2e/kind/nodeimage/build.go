package nodeimage

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/sliceshift/sliceshift/e2e/kind/docker"
)

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
	image := name + ":" + r.version
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
