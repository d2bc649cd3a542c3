package kind

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"

	"github.com/sliceshift/sliceshift/internal/program"
)

const kindModule = "sigs.k8s.io/kind"

// SourceDir returns the folder of this package: the tests run inside the repository.
func SourceDir() (string, error) {
	_, file, _, ok := runtime.Caller(0)
	if !ok || !filepath.IsAbs(file) {
		return "", errors.New("find the sources of e2e/kind: build without -trimpath, inside the repository")
	}
	return filepath.Dir(file), nil
}

// EmptyDir creates an empty folder of that name below out/ for the files of clusters, and replaces the folder of an
// earlier run. The path is absolute.
func EmptyDir(name string) (string, error) {
	source, err := SourceDir()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(filepath.Dir(filepath.Dir(source)), "out", name)
	return dir, errors.Join(os.RemoveAll(dir), os.MkdirAll(dir, 0o755))
}

// ModuleDir returns the folder of kind's module, at the version that tools/go.mod requires.
func ModuleDir(ctx context.Context) (string, error) {
	if _, err := inTools(ctx, "mod", "download", kindModule); err != nil {
		return "", err
	}
	return inTools(ctx, "list", "-m", "-f", "{{.Dir}}", kindModule)
}

// buildCommand builds the kind command into dir.
func buildCommand(ctx context.Context, dir string) (string, error) {
	command := filepath.Join(dir, "kind")
	_, err := inTools(ctx, "build", "-o", command, kindModule)
	return command, err
}

// inTools runs go in the module that pins kind.
func inTools(ctx context.Context, args ...string) (string, error) {
	source, err := SourceDir()
	if err != nil {
		return "", err
	}
	return program.In{Dir: filepath.Join(source, "tools"), Env: []string{"CGO_ENABLED=0", "GOWORK=off"}}.Output(ctx, "go", args...)
}
