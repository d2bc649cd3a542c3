package cluster

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"

	"github.com/sliceshift/sliceshift/internal/program"
)

// recipe is everything that decides what the control plane binary looks like.
type recipe struct {
	moduleDir string
	goVersion string
	ldflags   string
}

// fingerprint is a digest of the recipe: the module's go.mod, go.sum and sources, the
// Go version and the linker flags. Two equal recipes make equal binaries.
func (r recipe) fingerprint() (string, error) {
	made := fmt.Sprintf("%s\n%s\n%s/%s\n", r.goVersion, r.ldflags, runtime.GOOS, runtime.GOARCH)
	sum, err := program.Fingerprint(made, filepath.Join(r.moduleDir, "go.*"), filepath.Join(r.moduleDir, "*.go"))
	if err != nil {
		return "", fmt.Errorf("hash the control plane's sources: %w", err)
	}
	return sum, nil
}

var kubernetesVersion = regexp.MustCompile(`(?m)k8s\.io/kubernetes (v(\d+)\.(\d+)\.\S+)$`)

// linkerFlags sets the version that the servers and the client report; without
// them both say v0.0.0, which breaks every check of a server's version.
func linkerFlags(moduleDir string) (string, error) {
	content, err := os.ReadFile(filepath.Join(moduleDir, "go.mod"))
	if err != nil {
		return "", fmt.Errorf("read the control plane's module: %w", err)
	}
	version := kubernetesVersion.FindSubmatch(content)
	if version == nil {
		return "", errors.New("the control plane's module does not require k8s.io/kubernetes")
	}
	flags := []string{"-s", "-w"}
	for _, pkg := range []string{"k8s.io/component-base/version", "k8s.io/client-go/pkg/version"} {
		flags = append(flags,
			fmt.Sprintf("-X %s.gitVersion=%s", pkg, version[1]),
			fmt.Sprintf("-X %s.gitMajor=%s", pkg, version[2]),
			fmt.Sprintf("-X %s.gitMinor=%s", pkg, version[3]))
	}
	return strings.Join(flags, " "), nil
}

const mainModule = "module github.com/sliceshift/sliceshift\n"

// findModule returns the folder of the nested module: beside this source file,
// or, for a binary built with -trimpath, below the repository that holds the
// working directory.
func findModule() (string, error) {
	if _, file, _, ok := runtime.Caller(0); ok {
		dir := filepath.Join(filepath.Dir(filepath.Dir(file)), "controlplane")
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, nil
		}
	}
	dir, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("find the control plane's module: %w", err)
	}
	for {
		content, err := os.ReadFile(filepath.Join(dir, "go.mod"))
		if err == nil && strings.HasPrefix(string(content), mainModule) {
			return filepath.Join(dir, "e2e", "controlplane"), nil
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", errors.New("find the control plane's module: not inside the sliceshift repository")
		}
		dir = parent
	}
}
