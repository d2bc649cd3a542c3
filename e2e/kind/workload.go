package kind

import (
	"archive/tar"
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/sliceshift/sliceshift/e2e/built"
	"github.com/sliceshift/sliceshift/e2e/kind/docker"
	"github.com/sliceshift/sliceshift/internal/program"
)

// WorkloadVariable names the workload for clusters of the user, which pull it; the tag of its second version has the
// suffix "-2".
const WorkloadVariable = "E2E_WORKLOAD_IMAGE"

// Workload builds the application of the tests in two versions, loads it into every node and returns the name of its
// image. dir is for intermediate files.
func (p *Pair) Workload(ctx context.Context, dir string) (string, error) {
	if p.Own() {
		image := os.Getenv(WorkloadVariable)
		if image == "" {
			return "", fmt.Errorf("%s must name an image that both clusters can pull: see CONTRIBUTING.md", WorkloadVariable)
		}
		return image, nil
	}
	const image = "sliceshift/workload:e2e"
	if err := BuildWorkload(ctx, dir, image); err != nil {
		return "", err
	}
	return image, p.Load(ctx, image, image+"-2")
}

// BuildWorkload builds the application of the tests as an image that contains only its program, and a second version
// with the suffix "-2" of the tag. dir is for intermediate files.
func BuildWorkload(ctx context.Context, dir, image string) error {
	source, err := built.Module("e2e", "kind", "workload")
	if err != nil {
		return err
	}
	if err := BuildImage(ctx, dir, source, image, "ENV VERSION=1"); err != nil {
		return err
	}
	return BuildImage(ctx, dir, source, image+"-2", "ENV VERSION=2")
}

// BuildImage builds an image that contains only the static program of one package of this module.
func BuildImage(ctx context.Context, dir, pkg, image string, changes ...string) error {
	name := filepath.Base(pkg)
	binary := filepath.Join(dir, name)
	if err := buildStatic(ctx, pkg, binary); err != nil {
		return err
	}
	layer, err := layerOf(binary, name)
	if err != nil {
		return err
	}
	return docker.Import(ctx, layer, image, append(changes, fmt.Sprintf("ENTRYPOINT [%q]", "/"+name))...)
}

// AddProgram adds the static program of one package, of this module or of one within it, to an image. It becomes the
// image's entry point. dir is for intermediate files.
func AddProgram(ctx context.Context, dir, pkg, image string) error {
	name := filepath.Base(pkg)
	folder := filepath.Join(dir, name+"-image")
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	if err := buildStatic(ctx, pkg, filepath.Join(folder, name)); err != nil {
		return err
	}
	recipe := fmt.Sprintf("FROM %s\nCOPY %s /%[2]s\nENTRYPOINT [\"/%[2]s\"]\n", image, name)
	if err := os.WriteFile(filepath.Join(folder, "Dockerfile"), []byte(recipe), 0o600); err != nil {
		return err
	}
	return docker.Run(ctx, "build", "--quiet", "--tag", image, folder)
}

// buildStatic builds the static program of a package.
func buildStatic(ctx context.Context, pkg, target string) error {
	_, err := program.In{Dir: pkg, Env: []string{"CGO_ENABLED=0"}}.Output(ctx, "go", "build", "-trimpath", "-ldflags", "-s -w", "-o", target, ".")
	if err != nil {
		return fmt.Errorf("build %s: %w", filepath.Base(target), err)
	}
	return nil
}

// layerOf returns an archive of one program.
func layerOf(binary, name string) (*bytes.Buffer, error) {
	content, err := os.ReadFile(binary)
	if err != nil {
		return nil, err
	}
	layer := &bytes.Buffer{}
	w := tar.NewWriter(layer)
	if err := w.WriteHeader(&tar.Header{Name: name, Mode: 0o755, Size: int64(len(content))}); err != nil {
		return nil, err
	}
	if _, err := w.Write(content); err != nil {
		return nil, err
	}
	return layer, w.Close()
}

// BuildManager builds the image of the manager with the repository's Dockerfile. dir is for intermediate files.
func BuildManager(ctx context.Context, dir, image string) error {
	root, err := built.Module()
	if err != nil {
		return err
	}
	bin := filepath.Join(dir, "manager-image")
	if err := os.MkdirAll(bin, 0o755); err != nil {
		return err
	}
	for _, name := range []string{"manager", "mover"} {
		if err := buildStatic(ctx, filepath.Join(root, "cmd", name), filepath.Join(bin, name)); err != nil {
			return err
		}
	}
	return docker.Run(ctx, "build", "--quiet", "--tag", image, "--file", filepath.Join(root, "Dockerfile"), bin)
}
