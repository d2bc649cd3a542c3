package handoff

import (
	"context"

	"github.com/sliceshift/sliceshift/e2e/built"
	"github.com/sliceshift/sliceshift/e2e/measure"
)

// kubectl builds a standalone kubectl of the control plane's module. The kubectl inside the control plane binary takes
// twice as long to start, because it loads the whole control plane, which would be unfair to the script.
func (b *bench) kubectl(ctx context.Context) (string, error) {
	module, err := built.Module("e2e", "controlplane")
	if err != nil {
		return "", err
	}
	return b.Build(ctx, measure.Recipe{
		Name: "kubectl", Path: "k8s.io/kubernetes/cmd/kubectl",
		Module: module,
		// The same flags as in package cluster, so that the build cache is used.
		Flags: []string{"-trimpath"}, Env: []string{"CGO_ENABLED=0", "GOWORK=off"},
	})
}
