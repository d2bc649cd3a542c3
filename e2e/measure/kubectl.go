package measure

import (
	"context"
	"path/filepath"

	"github.com/sliceshift/sliceshift/e2e/versions"
	"github.com/sliceshift/sliceshift/internal/program"
)

// Kubectl builds a standalone kubectl of the control plane's module, with the flags of package cluster, so that the build
// cache is used. The kubectl inside the control plane binary takes twice as long to start, because it loads the whole
// control plane, which would be unfair to the script.
func (w Workshop) Kubectl(ctx context.Context) (string, error) {
	w.Say("building kubectl")
	v, err := versions.Selected()
	if err != nil {
		return "", err
	}
	target := filepath.Join(w.Dir, "kubectl")
	in := program.In{Dir: v.Module, Env: []string{"CGO_ENABLED=0", "GOWORK=off"}}
	_, err = in.Output(ctx, "go", "build", "-modfile", v.File, "-trimpath", "-ldflags=-s -w", "-o", target, "k8s.io/kubernetes/cmd/kubectl")
	return target, err
}
