package main

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/sliceshift/sliceshift/e2e/fixture"
	"github.com/sliceshift/sliceshift/e2e/measure"
)

const (
	// planned is how many ordinals the large application has.
	planned = 1000
	// plans is how often it is planned at most, and planFor how long: a slow plan
	// need not be looked at twice.
	plans   = 5
	planFor = 10 * time.Second
)

// plan times the real command's dry run for a large application.
func (b *bench) plan(ctx context.Context) error {
	path, err := b.Command(ctx, "migrate")
	if err != nil {
		return err
	}
	app := measure.Application("bench-plan", "web", planned)
	app.Policy = appsv1.ParallelPodManagement
	b.Say("deploying %d replicas", planned)
	if err := app.Deploy(ctx, b.source); err != nil {
		return err
	}
	b.Say("planning")
	var took []float64
	for begin := time.Now(); len(took) < plans && time.Since(begin) < planFor; {
		seconds, err := b.planOnce(ctx, path, app)
		if err != nil {
			return err
		}
		took = append(took, seconds)
	}
	b.figures.takePlan(measure.SpreadOf(took))
	return nil
}

// planOnce runs the command once and returns the seconds that it took.
func (b *bench) planOnce(ctx context.Context, path string, app fixture.App) (float64, error) {
	cmd := exec.CommandContext(ctx, path, "plan", app.Name, "-n", app.Namespace, "-o", "wide", "--create-namespace", "--shared", strings.Join(app.Claims, ","),
		"--kubeconfig", b.east.Kubeconfig(), "--to-kubeconfig", b.west.Kubeconfig())
	var out, complaints bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &complaints
	begin := time.Now()
	if err := cmd.Run(); err != nil {
		return 0, fmt.Errorf("migrate plan: %w\n%s%s", err, out.Bytes(), complaints.Bytes())
	}
	took := time.Since(begin).Seconds()
	if lines := bytes.Count(out.Bytes(), []byte("\n")); lines < planned {
		return 0, fmt.Errorf("migrate plan printed %d lines for %d ordinals", lines, planned)
	}
	return took, nil
}
