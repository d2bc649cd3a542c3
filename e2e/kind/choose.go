package kind

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/sliceshift/sliceshift/e2e/kind/docker"
	"github.com/sliceshift/sliceshift/e2e/kind/nodeimage"
)

// imageVariable names the node image, or is "built" for the image that is built here.
const imageVariable = "E2E_KIND_IMAGE"

const built = "built"

func isBuilt(image string) bool { return strings.HasPrefix(image, "sliceshift/node:") }

// chooseImage returns the image that the user requested, else kind's own node image if it is available, else the image
// that is built from Go modules and Debian packages. A machine without CAP_SYS_RESOURCE cannot run kind's own.
func chooseImage(ctx context.Context, host docker.Host, progress io.Writer) (string, error) {
	wanted := os.Getenv(imageVariable)
	if wanted != "" && wanted != built {
		return wanted, nil
	}
	kindDir, err := ModuleDir(ctx)
	if err != nil {
		return "", err
	}
	if wanted != built && !host.Unprivileged {
		stock, err := stockImage(kindDir)
		if err != nil {
			return "", err
		}
		if available(ctx, stock) {
			return stock, nil
		}
		fmt.Fprintf(progress, "%s cannot be had, so a node image is built here\n", stock)
	}
	return nodeimage.Build(ctx, kindDir, progress)
}

var defaultImage = regexp.MustCompile(`(?m)^const Image = "([^"]+)"$`)

// stockImage returns the default image of this version of kind.
func stockImage(kindDir string) (string, error) {
	file := filepath.Join(kindDir, "pkg", "apis", "config", "defaults", "image.go")
	content, err := os.ReadFile(file)
	if err != nil {
		return "", fmt.Errorf("look up kind's node image: %w", err)
	}
	found := defaultImage.FindSubmatch(content)
	if found == nil {
		return "", errors.New("look up kind's node image: " + file + " does not say")
	}
	return string(found[1]), nil
}

// available reports whether an image exists locally or can be pulled.
func available(ctx context.Context, image string) bool {
	if docker.Run(ctx, "image", "inspect", image) == nil {
		return true
	}
	const patience = 10 * time.Minute
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	return docker.Run(ctx, "pull", "--quiet", image) == nil
}
