package kind

import (
	"context"
	"errors"
	"os"
	"path/filepath"

	"github.com/sliceshift/sliceshift/e2e/kind/docker"
)

// Down removes everything that Up and Load made, except for dir and the node image.
func (p *Pair) Down(ctx context.Context) error {
	if p.Own() {
		return nil
	}
	errs := []error{p.deleteClusters(ctx)}
	if docker.Run(ctx, "network", "inspect", network) == nil {
		errs = append(errs, docker.Run(ctx, "network", "rm", network))
	}
	if len(p.loaded) > 0 {
		errs = append(errs, docker.Run(ctx, append([]string{"image", "rm"}, p.loaded...)...))
	}
	return errors.Join(append(errs, p.machine.Release())...)
}

func (p *Pair) deleteClusters(ctx context.Context) error {
	var errs []error
	for _, c := range p.All() {
		nodes, err := nodeNames(ctx, prefix+c.Name)
		if err != nil {
			return err
		}
		for _, node := range nodes { // a frozen container cannot be removed by docker 20.10
			if state, _ := docker.Output(ctx, "inspect", "--format", "{{.State.Paused}}", node); state == "true" {
				errs = append(errs, docker.Run(ctx, "unpause", node))
			}
		}
		if len(nodes) > 0 {
			errs = append(errs, p.runKind(ctx, "delete", "cluster", "--name", prefix+c.Name, "--kubeconfig", filepath.Join(p.dir, c.Name+".kubeconfig")))
		}
	}
	return errors.Join(errs...)
}

// KeepLogs copies what the nodes logged into dir/logs, for a run that failed.
func (p *Pair) KeepLogs(ctx context.Context) error {
	if p.Own() {
		return nil
	}
	var errs []error
	for _, c := range p.All() {
		logs := filepath.Join(p.dir, "logs", c.Name)
		errs = append(errs, os.MkdirAll(logs, 0o755), p.runKind(ctx, "export", "logs", logs, "--name", prefix+c.Name))
	}
	return errors.Join(errs...)
}
