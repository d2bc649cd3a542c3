package handoff

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
	// usual is the number of ordinals of the application with the usual preflight.
	usual = 3
	// plans is how often the plan is timed at most, and planFor for how long: a slow plan does not need a second run.
	plans   = 5
	planFor = 10 * time.Second
)

// plan times the real command's preflight of a usual application, and its dry run for a large application.
func (b *bench) plan(ctx context.Context) error {
	path, err := b.Command(ctx, "migrate")
	if err != nil {
		return err
	}
	if b.figures.Preflights, err = b.timed(ctx, path, measure.Application("bench-preflight", "web", usual), 1, "preflight"); err != nil {
		return err
	}
	b.figures.Plans, err = b.timed(ctx, path, measure.Application("bench-plan", "web", b.planned), int(b.planned), "plan", "-o", "wide")
	b.figures.Planned = b.planned
	b.figures.PreflightSeconds, b.figures.PlanSeconds = b.figures.Preflights.Median, b.figures.Plans.Median
	return err
}

// timed deploys an application, and times several runs of the command on it, which must print at least that many
// lines.
func (b *bench) timed(ctx context.Context, path string, app fixture.App, lines int, args ...string) (measure.Spread, error) {
	app.Policy = appsv1.ParallelPodManagement
	b.Say("deploying %d replicas", app.Replicas)
	if err := app.Deploy(ctx, b.source); err != nil {
		return measure.Spread{}, err
	}
	b.Say("asking for its %s", args[0])
	var took []float64
	for begin := time.Now(); len(took) < plans && time.Since(begin) < planFor; {
		seconds, err := b.once(ctx, path, app, lines, args)
		if err != nil {
			return measure.Spread{}, err
		}
		took = append(took, seconds)
	}
	return measure.SpreadOf(took), nil
}

// once runs the command once and returns the seconds that it took.
func (b *bench) once(ctx context.Context, path string, app fixture.App, lines int, args []string) (float64, error) {
	cmd := exec.CommandContext(ctx, path, append(args, app.Name, "-n", app.Namespace, "--create-namespace", "--shared", strings.Join(app.Claims, ","),
		"--kubeconfig", b.east.Kubeconfig(), "--to-kubeconfig", b.west.Kubeconfig())...)
	var out, complaints bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &complaints
	begin := time.Now()
	if err := cmd.Run(); err != nil {
		return 0, fmt.Errorf("migrate %s: %w\n%s%s", args[0], err, out.Bytes(), complaints.Bytes())
	}
	took := time.Since(begin).Seconds()
	if printed := bytes.Count(out.Bytes(), []byte("\n")); printed < lines {
		return 0, fmt.Errorf("migrate %s printed %d lines for %d ordinals", args[0], printed, app.Replicas)
	}
	return took, nil
}
