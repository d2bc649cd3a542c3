package tutorial

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes"

	"github.com/sliceshift/sliceshift/e2e/cluster"
	"github.com/sliceshift/sliceshift/e2e/desk"
	"github.com/sliceshift/sliceshift/e2e/fixture"
)

// The part of the page that needs no kubelet.
const (
	fromHere, toHere = "\n## Plan\n", "\n## With the manager\n"
	byCommandLimit   = 10 * time.Minute
)

// notHere are the commands of that part that need a kubelet, or that were already run here.
var notHere = []string{"make build", "export PATH", "/proxy/journal"}

// TestByCommand runs the page's part "by command" between control planes that run as processes. kwok simulates the
// kubelets there, and a StatefulSet of the tests stands for the page's application.
func TestByCommand(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), byCommandLimit)
	defer cancel()
	binary, err := cluster.Build(ctx, os.Stderr)
	if err != nil {
		t.Fatal(err)
	}
	both, err := cluster.StartAll(ctx, cluster.Options{Binary: binary}, names...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for _, c := range both {
			if err := c.Stop(); err != nil {
				t.Error(err)
			}
		}
	})
	client, err := kubernetes.NewForConfig(both[0].RESTConfig())
	if err != nil {
		t.Fatal(err)
	}
	one := intstr.FromInt32(1)
	app := fixture.App{Namespace: "shop", Name: "web", Replicas: 3, Claims: []string{"data"}, MaxUnavailable: &one}
	if err := app.Deploy(ctx, client); err != nil {
		t.Fatal(err)
	}
	env, err := programs(ctx, t.TempDir(), binary, both)
	if err != nil {
		t.Fatal(err)
	}
	commands, err := byCommand()
	if err != nil {
		t.Fatal(err)
	}
	if err := run(ctx, env, commands); err != nil {
		t.Fatal(err)
	}
}

// byCommand returns the commands of the part.
func byCommand() (string, error) {
	text, err := os.ReadFile(page)
	if err != nil {
		return "", err
	}
	_, part, found := strings.Cut(string(text), fromHere)
	part, _, ends := strings.Cut(part, toHere)
	if !found || !ends {
		return "", fmt.Errorf("%s has no part between %q and %q", page, fromHere, toHere)
	}
	var commands strings.Builder
	for _, blocks := range block.FindAllStringSubmatch(part, -1) {
		for line := range strings.Lines(blocks[1]) {
			if !slices.ContainsFunc(notHere, func(word string) bool { return strings.Contains(line, word) }) {
				commands.WriteString(line)
			}
		}
	}
	return commands.String(), nil
}

// programs puts kubectl and the command into a folder, and both clusters into one kubeconfig, with the contexts of the
// page.
func programs(ctx context.Context, dir, binary string, clusters []*cluster.Cluster) ([]string, error) {
	var contexts []desk.Context
	for _, c := range clusters {
		contexts = append(contexts, desk.Context{Name: "kind-" + c.Name(), Kubeconfig: c.Kubeconfig()})
	}
	kubeconfig := filepath.Join(dir, "kubeconfig")
	return desk.Env(dir, kubeconfig), errors.Join(desk.Programs(ctx, dir, binary), desk.WriteKubeconfig(kubeconfig, contexts...))
}
