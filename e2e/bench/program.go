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
	return b.build(ctx, recipe{name: name, path: "github.com/sliceshift/sliceshift/cmd/" + name})
}

// kubectl builds the kubectl of the control plane's module by itself. The one
// inside the control plane binary takes twice as long to start, because it brings
// the whole control plane along: that would be held against the script.
func (b *bench) kubectl(ctx context.Context) (string, error) {
	root, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", "github.com/sliceshift/sliceshift").Output()
	if err != nil {
		return "", fmt.Errorf("finding this module: %w", err)
	}
	return b.build(ctx, recipe{
		name: "kubectl", path: "k8s.io/kubernetes/cmd/kubectl",
		module: filepath.Join(strings.TrimSpace(string(root)), "e2e", "controlplane"),
		// As package cluster builds the control plane: what it has compiled is used.
		flags: []string{"-trimpath"}, env: []string{"CGO_ENABLED=0", "GOWORK=off"},
	})
}

// recipe is a program to build. Its flags and environment are those with which its
// packages have been compiled before, so that only linking is left.
type recipe struct {
	name, path string
	// module is the folder of another module than this one.
	module     string
	flags, env []string
}

func (b *bench) build(ctx context.Context, from recipe) (string, error) {
	b.say("building %s", from.name)
	target := filepath.Join(b.dir, from.name)
	args := append([]string{"build", "-ldflags=-s -w", "-o", target}, from.flags...)
	cmd := exec.CommandContext(ctx, "go", append(args, from.path)...)
	cmd.Dir, cmd.Env = from.module, append(os.Environ(), from.env...)
	if output, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("building %s: %w\n%s", from.name, err, bytes.TrimSpace(output))
	}
	return target, nil
}
