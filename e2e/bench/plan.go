package main

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"time"

	appsv1 "k8s.io/api/apps/v1"
)

const (
	// planned is how many ordinals the large application has.
	planned = 1000
	// plans is how often it is planned.
	plans = 3
)

// plan times the real command's dry run for a large application.
func (b *bench) plan(ctx context.Context) error {
	path, err := b.program(ctx, "migrate")
	if err != nil {
		return err
	}
	app := application("bench-plan", planned)
	app.Policy = appsv1.ParallelPodManagement
	b.say("deploying %d replicas", planned)
	if err := app.Deploy(ctx, b.source); err != nil {
		return err
	}
	b.say("planning, %d times", plans)
	var took []float64
	for range plans {
		cmd := exec.CommandContext(ctx, path, "plan", app.Name, "-n", app.Namespace, "--create-namespace",
			"--kubeconfig", b.east.Kubeconfig(), "--to-kubeconfig", b.west.Kubeconfig())
		var out, complaints bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &complaints
		begin := time.Now()
		if err := cmd.Run(); err != nil {
			return fmt.Errorf("migrate plan: %w\n%s%s", err, out.Bytes(), complaints.Bytes())
		}
		took = append(took, time.Since(begin).Seconds())
		if lines := bytes.Count(out.Bytes(), []byte("\n")); lines < planned {
			return fmt.Errorf("migrate plan printed %d lines for %d ordinals", lines, planned)
		}
	}
	b.figures.takePlan(spreadOf(took))
	return nil
}
