package kind

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/sliceshift/sliceshift/e2e/kind/docker"
)

// Down removes everything that Up and Load created, except dir and the node image. It leaves borrowed clusters in
// place.
func (p *Pair) Down(ctx context.Context) error {
	if p.Own() {
		return nil
	}
	var errs []error
	if !p.Borrowed() {
		errs = append(errs, os.RemoveAll(p.leaseFile()), p.removeClusters(ctx))
	}
	if len(p.loaded) > 0 {
		errs = append(errs, docker.Run(ctx, append([]string{"image", "rm"}, p.loaded...)...))
	}
	return errors.Join(append(errs, p.machine.Release())...)
}

// Sweep removes the clusters of a run that was killed. dir, an absolute path, gets the kind command.
func Sweep(ctx context.Context, dir string, progress io.Writer) error {
	p := &Pair{
		dir: dir, home: dir, machine: &Machine{}, progress: progress,
		East: &Cluster{Name: "east"}, West: &Cluster{Name: "west"}, Hub: &Cluster{Name: "hub"},
	}
	err := p.machine.takeTools(ctx, dir, progress)
	if err == nil {
		err = p.removeClusters(ctx)
	}
	return errors.Join(err, p.machine.Release())
}

// removeClusters retries for a while when docker refuses: it releases a container's file system and network some time
// after the container has ended.
func (p *Pair) removeClusters(ctx context.Context) error {
	const patience, interval = time.Minute, time.Second
	var refused error
	err := wait.PollUntilContextTimeout(ctx, interval, patience, true, func(ctx context.Context) (bool, error) {
		if refused = p.removeOnce(ctx); refused != nil {
			fmt.Fprintf(p.progress, "the clusters are not removed yet: %v\n", refused)
		}
		return refused == nil, nil
	})
	if err != nil {
		return errors.Join(err, refused)
	}
	return nil
}

func (p *Pair) removeOnce(ctx context.Context) error {
	err := p.deleteClusters(ctx)
	if docker.Run(ctx, "network", "inspect", network) == nil {
		err = errors.Join(err, docker.Run(ctx, "network", "rm", network))
	}
	return err
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
			errs = append(errs, p.runKind(ctx, "delete", "cluster", "--name", prefix+c.Name, "--kubeconfig", p.kubeconfig(c)))
		}
	}
	return errors.Join(errs...)
}

// Logs returns a folder for the logs of a process next to the clusters. It is kept like the logs of the nodes.
func (p *Pair) Logs(of string) string { return filepath.Join(p.dir, "logs", of) }

// KeepLogs copies the logs of the nodes into dir/logs, for a run that failed.
func (p *Pair) KeepLogs(ctx context.Context) error {
	if p.Own() {
		return nil
	}
	var errs []error
	for _, c := range p.All() {
		logs := p.Logs(c.Name)
		errs = append(errs, os.MkdirAll(logs, 0o755), p.runKind(ctx, "export", "logs", logs, "--name", prefix+c.Name))
	}
	return errors.Join(errs...)
}
