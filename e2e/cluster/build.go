package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/sliceshift/sliceshift/e2e/built"
)

// Build returns the control plane binary. If no binary of the same sources exists, Build builds it first, which takes
// about 5 minutes with cold caches. Several processes may call it at once; one builds, the others wait for it. Only a
// build writes to progress, which may be nil.
func Build(ctx context.Context, progress io.Writer) (string, error) {
	module, err := built.Module("e2e", "controlplane")
	if err != nil {
		return "", err
	}
	flags, err := linkerFlags(module)
	if err != nil {
		return "", err
	}
	return built.Program{Name: "controlplane", Module: module, Package: ".", Flags: flags, Takes: "about 5 minutes"}.Path(ctx, progress)
}

var kubernetesVersion = regexp.MustCompile(`(?m)k8s\.io/kubernetes (v(\d+)\.(\d+)\.\S+)$`)

// linkerFlags sets the version that the servers and the client report. Without it both report v0.0.0, which breaks
// every check of a server's version.
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
