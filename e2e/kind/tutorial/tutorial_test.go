package tutorial

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sliceshift/sliceshift/e2e/kind"
	"github.com/sliceshift/sliceshift/e2e/kind/docker"
	"github.com/sliceshift/sliceshift/internal/program"
)

const (
	// enabled is set by make e2e-kind.
	enabled = "E2E_KIND"
	// limit bounds the whole page.
	limit = 40 * time.Minute

	root      = "../../.."
	page      = root + "/docs/tutorial.md"
	clusterAs = root + "/config/samples/tutorial/kind.yaml"
)

// names are the names of the page's clusters.
var names = []string{"east", "west"}

//go:embed kind.sh
var wrapper []byte

// TestTutorial runs the page and stops at the first command that fails.
func TestTutorial(t *testing.T) {
	if os.Getenv(enabled) == "" {
		t.Skip("make e2e-kind runs this")
	}
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	dir := t.TempDir()
	machine, err := kind.Prepare(ctx, dir, os.Stderr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := machine.Release(); err != nil {
			t.Error(err)
		}
	})
	if err := expectNone(ctx, machine); err != nil {
		t.Fatal(err)
	}
	const network = "kind" // kind creates it and does not remove it
	made := docker.Run(ctx, "network", "inspect", network) != nil
	t.Cleanup(func() {
		if err := tidy(dir, machine); err != nil {
			t.Error(err)
		}
		if made {
			if err := docker.Run(context.WithoutCancel(ctx), "network", "rm", network); err != nil {
				t.Error(err)
			}
		}
	})
	env, err := environment(ctx, dir, machine)
	if err != nil {
		t.Fatal(err)
	}
	commands, err := commandsOf(page)
	if err != nil {
		t.Fatal(err)
	}
	if err := run(ctx, env, commands); err != nil {
		t.Fatal(err)
	}
}

// TestCommandsOf: the page has commands, and so does each of its parts.
func TestCommandsOf(t *testing.T) {
	commands, err := commandsOf(page)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"kind create cluster --name west", "kubectl migrate plan web", "kubectl migrate pause web", "kubectl migrate rollback web", "kubectl migrate report web", "kubectl migrate install", "--for=condition=Completed", "kind delete cluster --name east"} {
		if !strings.Contains(commands, want) {
			t.Errorf("the page does not have %q", want)
		}
	}
}

var block = regexp.MustCompile("(?s)\n```sh\n(.*?)```\n")

// commandsOf returns the commands of a page.
func commandsOf(page string) (string, error) {
	text, err := os.ReadFile(page)
	if err != nil {
		return "", err
	}
	var commands strings.Builder
	for _, found := range block.FindAllSubmatch(text, -1) {
		commands.Write(found[1])
	}
	return commands.String(), nil
}

// environment puts the programs of the page first in the path: kind adapted to this machine, and the kubectl of the
// nodes' version.
func environment(ctx context.Context, dir string, machine *kind.Machine) ([]string, error) {
	plain, err := os.ReadFile(clusterAs)
	if err != nil {
		return nil, err
	}
	config, err := machine.Adapt(plain)
	if err != nil {
		return nil, err
	}
	programs, adapted := filepath.Join(dir, "programs"), filepath.Join(dir, "kind.yaml")
	err = errors.Join(os.MkdirAll(programs, 0o755), os.WriteFile(adapted, config, 0o600),
		os.WriteFile(filepath.Join(programs, "kind"), wrapper, 0o755), takeKubectl(ctx, machine.Image, programs))
	var path string
	env := []string{"ADAPTED=" + adapted, "REAL_KIND=" + machine.Kind, "KUBECONFIG=" + filepath.Join(dir, "kubeconfig")}
	for _, each := range machine.Env {
		if value, is := strings.CutPrefix(each, "PATH="); is {
			path = value
			continue
		}
		env = append(env, each)
	}
	return append(env, "PATH="+programs+string(os.PathListSeparator)+path), err
}

// takeKubectl copies kubectl out of the nodes' image.
func takeKubectl(ctx context.Context, image, into string) error {
	container, err := docker.Output(ctx, "create", image)
	if err != nil {
		return err
	}
	return errors.Join(
		docker.Run(ctx, "cp", "--follow-link", container+":/usr/bin/kubectl", filepath.Join(into, "kubectl")),
		docker.Run(ctx, "rm", container))
}

// run prints each command before it runs it.
func run(ctx context.Context, env []string, commands string) error {
	cmd := exec.CommandContext(ctx, "bash", "-euo", "pipefail", "-c", "set -x\n"+commands)
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = root, env, os.Stdout, os.Stdout
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("a command of %s failed: %w", page, err)
	}
	return nil
}

// expectNone fails if clusters with the page's names exist, because they would be removed.
func expectNone(ctx context.Context, machine *kind.Machine) error {
	output, err := program.In{Env: machine.Env}.Output(ctx, machine.Kind, "get", "clusters", "--quiet")
	if err != nil {
		return fmt.Errorf("list the clusters: %w", err)
	}
	for each := range strings.FieldsSeq(output) {
		if slices.Contains(names, each) {
			return fmt.Errorf("there is a kind cluster %s already: remove it (kind delete cluster --name %s) and try again", each, each)
		}
	}
	return nil
}

// tidy removes what the page removes at its end.
func tidy(dir string, machine *kind.Machine) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	var errs []error
	for _, name := range names {
		_, err := program.In{Env: machine.Env}.Output(ctx, machine.Kind, "delete", "cluster", "--name", name, "--kubeconfig", filepath.Join(dir, "kubeconfig"))
		errs = append(errs, err)
	}
	return errors.Join(append(errs, os.RemoveAll("/tmp/sliceshift-tutorial"), docker.Run(ctx, "image", "rm", "--force",
		"sliceshift-workload:1", "sliceshift-workload:1-2", "sliceshift-manager:tutorial"))...)
}
