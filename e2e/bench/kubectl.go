package main

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/sliceshift/sliceshift/e2e/measure"
	"github.com/sliceshift/sliceshift/internal/program"
)

// kubectl builds the kubectl of the control plane's module by itself. The one
// inside the control plane binary takes twice as long to start, because it brings
// the whole control plane along: that would be held against the script.
func (b *bench) kubectl(ctx context.Context) (string, error) {
	root, err := program.In{}.Output(ctx, "go", "list", "-m", "-f", "{{.Dir}}", "github.com/sliceshift/sliceshift")
	if err != nil {
		return "", fmt.Errorf("finding this module: %w", err)
	}
	return b.Build(ctx, measure.Recipe{
		Name: "kubectl", Path: "k8s.io/kubernetes/cmd/kubectl",
		Module: filepath.Join(root, "e2e", "controlplane"),
		// As package cluster builds the control plane: what it has compiled is used.
		Flags: []string{"-trimpath"}, Env: []string{"CGO_ENABLED=0", "GOWORK=off"},
	})
}
