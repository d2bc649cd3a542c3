// Command demo shows the main job: it starts two real clusters on this machine,
// deploys a StatefulSet of 5 with claims, a PodDisruptionBudget and a Service,
// prints the plan, moves all five with the real command, and asks an independent
// auditor. It exits 0 only if the auditor agrees, and leaves nothing running.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes"

	"github.com/sliceshift/sliceshift/e2e/auditor"
	"github.com/sliceshift/sliceshift/e2e/cluster"
	"github.com/sliceshift/sliceshift/e2e/fixture"
	"github.com/sliceshift/sliceshift/internal/program"
)

func main() { program.Run("demo", demo) }

func demo(ctx context.Context) (err error) {
	dir, err := os.MkdirTemp("", "sliceshift-demo-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	headline("Building the command and the control plane")
	command := filepath.Join(dir, "kubectl-migrate")
	if err := show(ctx, "go", "build", "-o", command, "./cmd/migrate"); err != nil {
		return err
	}
	binary, err := cluster.Build(ctx, os.Stdout)
	if err != nil {
		return err
	}
	headline("Starting two clusters, east and west")
	begin := time.Now()
	both, err := cluster.StartAll(ctx, cluster.Options{Binary: binary}, "east", "west")
	if err != nil {
		return err
	}
	defer func() {
		for _, c := range both {
			err = errors.Join(err, c.Stop())
		}
	}()
	fmt.Printf("ready after %.1f s\n", time.Since(begin).Seconds())
	return move(ctx, command, both[0], both[1])
}

func move(ctx context.Context, command string, east, west *cluster.Cluster) error {
	headline("Deploying StatefulSet shop/web to east: 5 replicas, a claim each, maxUnavailable 1")
	one := intstr.FromInt32(1)
	app := fixture.App{Namespace: "shop", Name: "web", Replicas: 5, Claims: []string{"data"}, MaxUnavailable: &one}
	client, err := kubernetes.NewForConfig(east.RESTConfig())
	if err != nil {
		return err
	}
	if err := app.Deploy(ctx, client); err != nil {
		return err
	}
	if err := show(ctx, east.Kubectl(ctx, "get", "statefulset,pods,pvc,pdb", "-n", "shop").Args...); err != nil {
		return err
	}
	watching, err := auditor.Start(ctx, auditor.Options{
		Source:      auditor.Side{Name: "east", Config: east.RESTConfig(), Namespace: app.Namespace, Set: app.Name},
		Destination: auditor.Side{Name: "west", Config: west.RESTConfig(), Namespace: app.Namespace, Set: app.Name},
		Budget:      1,
	})
	if err != nil {
		return err
	}
	args := []string{"web", "-n", "shop", "--kubeconfig", east.Kubeconfig(), "--to-kubeconfig", west.Kubeconfig(), "--create-namespace", "--shared", "data"}
	headline("The plan: kubectl migrate plan web -n shop --to-context west")
	if err := show(ctx, append([]string{command, "plan"}, args...)...); err != nil {
		return err
	}
	headline("The move: kubectl migrate run web -n shop --to-context west")
	if err := show(ctx, append([]string{command, "run"}, args...)...); err != nil {
		return err
	}
	headline("West, after the move")
	if err := show(ctx, west.Kubectl(ctx, "get", "statefulset,pods,pvc,pdb", "-n", "shop").Args...); err != nil {
		return err
	}
	headline("The auditor, who watched both clusters over connections of its own")
	verdict := watching.Finish(ctx)
	fmt.Println(verdict)
	if !verdict.OK() {
		return errors.New("the auditor does not agree")
	}
	return nil
}

func headline(text string) { fmt.Printf("\n== %s\n", text) }

// show runs a command on this terminal.
func show(ctx context.Context, args ...string) error {
	c := exec.CommandContext(ctx, args[0], args[1:]...)
	c.Stdin, c.Stdout, c.Stderr = os.Stdin, os.Stdout, os.Stderr
	if err := c.Run(); err != nil {
		return fmt.Errorf("%s: %w", filepath.Base(args[0]), err)
	}
	return nil
}
