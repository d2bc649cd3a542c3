package main

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/sliceshift/sliceshift/e2e/measure"
	"github.com/sliceshift/sliceshift/internal/program"
)

// kubectl builds a standalone kubectl of the control plane's module. The kubectl inside the control plane binary takes
// twice as long to start, because it loads the whole control plane, which would be unfair to the script.
func (b *bench) kubectl(ctx context.Context) (string, error) {
	root, err := program.In{}.Output(ctx, "go", "list", "-m", "-f", "{{.Dir}}", "github.com/sliceshift/sliceshift")
	if err != nil {
		return "", fmt.Errorf("finding this module: %w", err)
	}
	return b.Build(ctx, measure.Recipe{
		Name: "kubectl", Path: "k8s.io/kubernetes/cmd/kubectl",
		Module: filepath.Join(root, "e2e", "controlplane"),
		// The same flags as in package cluster, so that the build cache is used.
		Flags: []string{"-trimpath"}, Env: []string{"CGO_ENABLED=0", "GOWORK=off"},
	})
}
