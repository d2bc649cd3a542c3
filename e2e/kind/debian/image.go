// Package debian makes images of Debian packages, for what runs in pods of the tests where no registry
// can be reached.
package debian

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sliceshift/sliceshift/e2e/kind/docker"
	"github.com/sliceshift/sliceshift/internal/program"
)

// release that the images are.
const release = "bookworm"

// fingerprintLabel is how an image is found again.
const fingerprintLabel = "io.sliceshift.packages"

// Image makes an image of a small Debian with these packages. It takes a minute or two and needs root, the first
// time; afterwards what it made is found again, under a name that nobody removes.
func Image(ctx context.Context, progress io.Writer, image string, packages ...string) error {
	fingerprint := release + ":" + strings.Join(packages, ",")
	kept := "sliceshift/debian:" + strings.Join(packages, "-")
	label, err := docker.Output(ctx, "image", "inspect", "--format", `{{index .Config.Labels "`+fingerprintLabel+`"}}`, kept)
	if err != nil || label != fingerprint {
		if err := fetch(ctx, progress, kept, fingerprint, packages); err != nil {
			return err
		}
	}
	return docker.Run(ctx, "tag", kept, image)
}

// fetch gets the packages and what they need.
func fetch(ctx context.Context, progress io.Writer, image, fingerprint string, packages []string) error {
	dir, err := os.MkdirTemp("", "sliceshift-debian-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	root := filepath.Join(dir, "root")
	fmt.Fprintf(progress, "fetching %s and their dependencies\n", strings.Join(packages, ", "))
	if err := Bootstrap(ctx, progress, release, root, packages...); err != nil {
		return err
	}
	return load(ctx, dir, root, image, "LABEL "+fingerprintLabel+"="+fingerprint)
}

// load makes an image of a folder.
func load(ctx context.Context, dir, root, image string, changes ...string) error {
	archive := filepath.Join(dir, "root.tar")
	if _, err := (program.In{}).Output(ctx, "tar", "-C", root, "--numeric-owner", "-cf", archive, "."); err != nil {
		return err
	}
	args := []string{"import"}
	for _, change := range changes {
		args = append(args, "--change", change)
	}
	return docker.Run(ctx, slices.Concat(args, []string{archive, image})...)
}
