package nodeimage

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"

	"github.com/sliceshift/sliceshift/internal/program"
)

// recipe holds the inputs that determine an image.
type recipe struct {
	sourceDir  string // this package
	controlDir string // the module of the control plane
	kindDir    string // kind's module
	goVersion  string
	version    string // of Kubernetes
}

var kubernetesVersion = regexp.MustCompile(`(?m)k8s\.io/kubernetes (v\d+\.\d+\.\S+)$`)

func newRecipe(ctx context.Context, kindDir string) (recipe, error) {
	_, file, _, ok := runtime.Caller(0)
	if !ok || !filepath.IsAbs(file) {
		return recipe{}, errors.New("find the sources of the node image: build without -trimpath, inside the repository")
	}
	r := recipe{kindDir: kindDir, sourceDir: filepath.Dir(file)}
	r.controlDir = filepath.Join(r.sourceDir, "..", "..", "controlplane")
	content, err := os.ReadFile(filepath.Join(r.controlDir, "go.mod"))
	if err != nil {
		return recipe{}, fmt.Errorf("read the control plane's module: %w", err)
	}
	found := kubernetesVersion.FindSubmatch(content)
	if found == nil {
		return recipe{}, errors.New("the control plane's module does not require k8s.io/kubernetes")
	}
	r.version = string(found[1])
	cmd := exec.CommandContext(ctx, "go", "env", "GOVERSION")
	cmd.Dir = r.controlDir
	output, err := cmd.Output()
	if err != nil {
		return recipe{}, fmt.Errorf("ask for the Go version: %w", err)
	}
	r.goVersion = strings.TrimSpace(string(output))
	return r, nil
}

// fingerprint hashes the sources of this package, of the Debian below it and of the control plane, the versions of Go and
// of kind.
func (r recipe) fingerprint() (string, error) {
	return r.hash(
		filepath.Join(r.sourceDir, "*"), filepath.Join(r.sourceDir, "pause", "*"),
		filepath.Join(r.controlDir, "go.*"), filepath.Join(r.controlDir, "*.go"), r.bootstrap(),
	)
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
