package specs

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"

	"github.com/sliceshift/sliceshift/e2e/built"
	"github.com/sliceshift/sliceshift/e2e/kind/debian"
	"github.com/sliceshift/sliceshift/e2e/kind/docker"
	"github.com/sliceshift/sliceshift/internal/program"
)

const kubernetes = "k8s.io/kubernetes"

// build builds a program of the module suite.
func build(ctx context.Context, name, pkg string) (string, error) {
	module, err := built.Module("e2e", "specs", "suite")
	if err != nil {
		return "", err
	}
	_, flags, err := built.Kubernetes(filepath.Join(module, "go.mod"))
	if err != nil {
		return "", err
	}
	return built.Program{Name: name, Module: module, Package: pkg, Flags: flags, Takes: "some minutes"}.Path(ctx, os.Stderr)
}

// used matches the names of the images that the specs of StatefulSets use, each version of them.
var used = regexp.MustCompile(`(?m)^registry\.k8s\.io/e2e-test-images/(agnhost|busybox):\S+$`)

// buildImages builds an image under the names of all images that the pods of the specs run, and returns these names. The image
// has the program of agnhost and the file that the specs name, and Debian's shell and tools instead of Alpine's and busybox.
func buildImages(ctx context.Context, dir, suite string) ([]string, error) {
	listed, err := program.In{}.Output(ctx, suite, "-list-images")
	if err != nil {
		return nil, err
	}
	names := used.FindAllString(listed, -1)
	slices.Sort(names)
	if names = slices.Compact(names); len(names) == 0 {
		return nil, errors.New("the specs use none of the images that are built here")
	}
	const base = "sliceshift/specs-base:e2e"
	if err := debian.Image(ctx, os.Stderr, base, "hostname", "findutils"); err != nil {
		return nil, err
	}
	context, err := imageFiles(ctx, dir, base)
	if err != nil {
		return nil, err
	}
	args := []string{"build", "--quiet"}
	for _, name := range names {
		args = append(args, "--tag", name)
	}
	return names, docker.Run(ctx, append(args, context)...)
}

// imageFiles returns a folder with the files of the image and its Dockerfile.
func imageFiles(ctx context.Context, dir, base string) (string, error) {
	binary, err := build(ctx, "agnhost", kubernetes+"/test/images/agnhost")
	if err != nil {
		return "", err
	}
	module, err := built.Module("e2e", "specs", "suite")
	if err != nil {
		return "", err
	}
	sources, err := program.In{Dir: module, Env: []string{"GOWORK=off"}}.Output(ctx, "go", "list", "-m", "-f", "{{.Dir}}", kubernetes)
	if err != nil {
		return "", err
	}
	files := filepath.Join(dir, "image")
	if err := os.MkdirAll(files, 0o755); err != nil {
		return "", err
	}
	for name, from := range map[string]string{
		"agnhost":       binary,
		"localhost.crt": filepath.Join(sources, "test", "images", "agnhost", "porter", "localhost.crt"), // a probe reads it, and specs move it away
	} {
		content, err := os.ReadFile(from)
		if err != nil {
			return "", fmt.Errorf("build the image of the specs: %w", err)
		}
		if err := os.WriteFile(filepath.Join(files, name), content, 0o755); err != nil {
			return "", err
		}
	}
	recipe := "FROM " + base + "\nCOPY agnhost localhost.crt /\nENTRYPOINT [\"/agnhost\"]\nCMD [\"pause\"]\n"
	return files, os.WriteFile(filepath.Join(files, "Dockerfile"), []byte(recipe), 0o600)
}
