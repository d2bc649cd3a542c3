package main

import (
	"context"
	"errors"
	"path/filepath"

	corev1 "k8s.io/api/core/v1"

	"github.com/sliceshift/sliceshift/e2e/kind"
	"github.com/sliceshift/sliceshift/e2e/kind/stage"
)

// clientPod returns a pod that writes a file of the run's folder.
func clientPod(run int, name string, args ...string) *corev1.Pod {
	return stage.Writer(app.Meta(name), folder(run), clientImage, append(args, "-endpoints="+clientURLs(), "-out=/out/"+name+".json")...)
}

func clientName(c *kind.Cluster) string { return "client-" + c.Name }

// written returns the path of a file of the run on this machine.
func (r *run) written(name string) string {
	return filepath.Join(r.pair.SharedDir(), folder(r.number), name+".json")
}

// startClients starts a client in each cluster.
func (r *run) startClients(ctx context.Context) error {
	for _, c := range r.pair.Both() {
		if err := stage.RunPod(ctx, c, clientPod(r.number, clientName(c), "run", "-name="+c.Name), corev1.PodRunning); err != nil {
			return err
		}
	}
	return nil
}

// stopClients stops the clients.
func (r *run) stopClients(ctx context.Context) error {
	var errs []error
	for _, c := range r.pair.Both() {
		errs = append(errs, stage.StopPod(ctx, c, namespace, clientName(c)))
	}
	return errors.Join(errs...)
}

// final requests all written values of every member, by a pod in west.
func (r *run) final(ctx context.Context) error {
	return stage.RunPod(ctx, r.pair.West, clientPod(r.number, "final", "final"), corev1.PodSucceeded)
}
