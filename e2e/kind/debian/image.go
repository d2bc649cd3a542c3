// Package debian builds images of Debian packages for the pods of the tests, where no registry is reachable.
package debian

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/sliceshift/sliceshift/e2e/kind/docker"
)

// release is the Debian release of the images.
const release = "bookworm"

// fingerprintLabel is the label by which an existing image is found.
const fingerprintLabel = "io.sliceshift.packages"

// Image builds an image of a minimal Debian with these packages. The first build takes a minute or two and needs root.
// Later calls find the image under a second name, which is never removed.
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

// fetch installs the packages and their dependencies.
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
	return docker.ImportDir(ctx, root, image, "LABEL "+fingerprintLabel+"="+fingerprint)
}
