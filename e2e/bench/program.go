package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// program builds a command of this repository into the folder of the run.
func (b *bench) program(ctx context.Context, name string) (string, error) {
	return b.build(ctx, "", name, "github.com/sliceshift/sliceshift/cmd/"+name)
}

// kubectl builds the kubectl of the control plane's module by itself. The one
// inside the control plane binary takes twice as long to start, because it brings
// the whole control plane along: that would be held against the script.
func (b *bench) kubectl(ctx context.Context) (string, error) {
	root, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", "github.com/sliceshift/sliceshift").Output()
	if err != nil {
		return "", fmt.Errorf("finding this module: %w", err)
	}
	module := filepath.Join(strings.TrimSpace(string(root)), "e2e", "controlplane")
	return b.build(ctx, module, "kubectl", "k8s.io/kubernetes/cmd/kubectl")
}

func (b *bench) build(ctx context.Context, module, name, path string) (string, error) {
	b.say("building %s", name)
	target := filepath.Join(b.dir, name)
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags=-s -w", "-o", target, path)
	cmd.Dir = module
	// As package cluster builds the control plane: what is compiled is shared.
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off")
	if output, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("building %s: %w\n%s", name, err, bytes.TrimSpace(output))
	}
	return target, nil
}
