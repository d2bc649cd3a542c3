package many

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/e2e/built"
	"github.com/sliceshift/sliceshift/e2e/cluster"
	"github.com/sliceshift/sliceshift/e2e/measure"
	"github.com/sliceshift/sliceshift/internal/program"
)

// evacuator is a run of the scenario evacuate: all StatefulSets of a cluster move by one Evacuation, which the command
// plans and writes, and the manager as shipped runs. The forecast is that of the command, after a tenth of the ordinals
// has arrived. The real times are observed from outside.
type evacuator struct {
	bench
	sets, ordinals int
	// migrate is the path of the program.
	migrate string
	figures evacuationFigures
}

// usualSets and usualOrdinals are those for the figures of the documentation.
const (
	usualSets     = 200
	usualOrdinals = 5
)

// EvacuateScenario declares the flags.
func EvacuateScenario(set *flag.FlagSet) *measure.Scenario {
	b := &evacuator{bench: bench{options: options{migrations: 1, ordinals: 1, pairs: 1}}}
	set.IntVar(&b.sets, "sets", usualSets, "how many StatefulSets move")
	set.IntVar(&b.ordinals, "ordinals", usualOrdinals, "how many ordinals each of them has")
	set.DurationVar(&b.options.limit, "limit", time.Hour, "how long their move may take")
	part := func(name string, do func(context.Context, *stage) error) measure.Part {
		return measure.Part{Name: name, Run: func(ctx context.Context) error { return b.staged(ctx, 1, do) }}
	}
	return &measure.Scenario{
		Target: "bench-evacuate", Begin: b.begin, Figures: &b.figures, Page: b.figures.page,
		Usual: func() bool { return b.sets == usualSets && b.ordinals == usualOrdinals },
		Parts: []measure.Part{part("alone", b.alone), part("evacuation", b.evacuation)},
		Done:  func(seconds float64) { b.figures.Cores, b.figures.Seconds = runtime.NumCPU(), seconds },
		Show:  func(out io.Writer) bool { return measure.Show(out, b.figures.rows()) },
	}
}

func (b *evacuator) begin(ctx context.Context, w measure.Workshop) (end func() error, err error) {
	if b.sets < 1 || b.ordinals < 1 {
		return nil, errors.New("-sets and -ordinals must be at least 1")
	}
	if end, err = b.bench.begin(ctx, w); err != nil {
		return nil, err
	}
	b.migrate, err = w.Command(ctx, "migrate")
	return end, err
}

// alone lets the manager move one StatefulSet.
func (b *evacuator) alone(ctx context.Context, s *stage) error {
	moves, err := s.deploy(ctx, measure.Application("alone", "web", aloneOrdinals), warmUp("alone"))
	if err != nil {
		return err
	}
	f, err := s.byManager(ctx, moves[0], moves[1])
	b.figures.AlonePerSecond = f.PerSecond
	b.Say("alone: %.2f handoffs a second", f.PerSecond)
	return err
}

// The namespace of the applications and of their Evacuation, and its name.
const (
	evacuated      = "evacuated"
	evacuationName = "all"
)

// evacuation deploys the applications, and measures their Evacuation.
func (b *evacuator) evacuation(ctx context.Context, s *stage) error {
	b.Say("deploying %d applications of %d replicas", b.sets, b.ordinals)
	moves, err := s.deploy(ctx, append(oneNamespace(evacuated, b.sets, b.ordinals), warmUp(evacuated))...)
	if err != nil {
		return err
	}
	manager, err := s.startManager(ctx, moves[b.sets])
	if err != nil {
		return err
	}
	defer manager.Kill()
	e := &evacuationRun{evacuator: b, stage: s, manager: manager}
	return manager.Explain(e.measure(ctx, moves[:b.sets]))
}

// evacuationRun is the measurement of one Evacuation.
type evacuationRun struct {
	*evacuator
	stage   *stage
	manager *measure.Manager
	seen    *observer
}

// measure plans and writes the Evacuation, and observes it to its end.
func (r *evacuationRun) measure(ctx context.Context, moves []move) (err error) {
	if r.seen, err = r.stage.observe(ctx, moves); err != nil {
		return err
	}
	f := &r.figures
	f.Sets, f.Ordinals = r.sets, r.ordinals
	begin := time.Now()
	var plan struct{ Summary struct{ Seconds float64 } }
	create := []string{
		"evacuate", "-n", evacuated, "--to-kubeconfig", r.stage.destinations[0].Kubeconfig(), "--create-namespace", "--shared", measure.Template,
		"--create", evacuationName, "--create-in", evacuated, "--destination-secret", moves[0].to.Name(), "--service-account", "default",
	}
	if err := r.command(ctx, &plan, create...); err != nil {
		return err
	}
	f.PlanSeconds, f.PlannedSeconds = time.Since(begin).Seconds(), plan.Summary.Seconds
	r.Say("planned and written in %.1f s: it is expected to take %.0f s", f.PlanSeconds, f.PlannedSeconds)
	before, err := r.cpu()
	if err != nil {
		return err
	}
	if err := r.forecast(ctx, len(moves)*r.ordinals); err != nil {
		return err
	}
	if _, err := r.seen.await(ctx, r.options.limit, r.manager.Ended(), seen.isCompleted); err != nil {
		return err
	}
	after, err := r.cpu()
	if err != nil {
		return err
	}
	f.ManagerCPU, f.ControlPlanesCPU = after.manager-before.manager, after.controlPlanes-before.controlPlanes
	return r.end(ctx)
}

// forecast waits until a tenth of the ordinals has arrived, and takes the forecast of the command.
func (r *evacuationRun) forecast(ctx context.Context, ordinals int) error {
	arrived := func(all []seen) (sum int) {
		for _, one := range all {
			sum += int(one.moved)
		}
		return sum
	}
	reached, err := r.seen.until(ctx, r.options.limit, r.manager.Ended(), func(all []seen) bool { return 10*arrived(all) >= ordinals })
	if err != nil || !reached {
		return errors.Join(errors.New("a tenth of the ordinals has not arrived"), err)
	}
	now, err := r.course(ctx)
	if err != nil {
		return err
	}
	if now.Started == nil || now.LeftSeconds == nil {
		return fmt.Errorf("after a tenth, there is no forecast: %+v", now)
	}
	f := &r.figures
	f.ForecastAfter = now.Time.Sub(*now.Started).Seconds()
	f.ForecastSeconds = f.ForecastAfter + *now.LeftSeconds
	r.Say("after %.0f s, %d of %d ordinals have arrived: the forecast is %.0f s", f.ForecastAfter, now.ArrivedOrdinals, ordinals, f.ForecastSeconds)
	return nil
}

// course is the state of an Evacuation as the command prints it.
type evacuationCourse struct {
	Time            time.Time
	Started         *time.Time
	LeftSeconds     *float64
	ArrivedOrdinals int
}

func (r *evacuationRun) course(ctx context.Context) (now evacuationCourse, err error) {
	return now, r.command(ctx, &now, "status", "evacuation/"+evacuationName, "-n", evacuated)
}

// command runs a command, and reads the document that it prints.
func (r *evacuationRun) command(ctx context.Context, into any, args ...string) error {
	out, err := r.run(ctx, append(args, "-o", "json")...)
	if err != nil {
		return err
	}
	return json.Unmarshal([]byte(out), into)
}

func (r *evacuationRun) run(ctx context.Context, args ...string) (string, error) {
	return program.In{}.Output(ctx, r.migrate, append(args, "--kubeconfig", r.stage.source.Kubeconfig())...)
}

// used is the processor time that was used so far.
type used struct{ manager, controlPlanes float64 }

func (r *evacuationRun) cpu() (u used, err error) {
	if u.manager, err = r.manager.CPUSeconds(); err != nil {
		return u, err
	}
	for _, side := range r.stage.sides() {
		for _, role := range cluster.Roles() {
			seconds, err := measure.CPUSeconds(side.PID(role))
			if err != nil {
				return u, fmt.Errorf("cluster %s, %s: %w", side.Name(), role, err)
			}
			u.controlPlanes += seconds
		}
	}
	return u, nil
}

// end takes the figures at the end, and writes the picture.
func (r *evacuationRun) end(ctx context.Context) error {
	f := &r.figures
	now, err := r.course(ctx)
	if err != nil {
		return err
	}
	if now.Started == nil {
		return errors.New("no Migration has begun")
	}
	last := *now.Started
	for _, one := range r.seen.all() {
		f.Arrived += int(one.moved)
		if one.isCompleted() {
			f.Completed++
		}
		if one.completed.After(last) {
			last = one.completed
		}
	}
	f.take(last.Sub(*now.Started).Seconds())
	if f.PeakMiB, err = r.manager.PeakMiB(); err != nil {
		return err
	}
	e := &api.Evacuation{}
	if err := r.stage.migrations.Get(ctx, client.ObjectKey{Namespace: evacuated, Name: evacuationName}, e); err != nil {
		return err
	}
	data, err := json.Marshal(e)
	if err != nil {
		return err
	}
	f.ObjectKiB = float64(len(data)) / (1 << 10)
	return r.draw(ctx)
}

// draw writes the picture of the planned and the real times.
func (r *evacuationRun) draw(ctx context.Context) error {
	svg, err := r.run(ctx, "report", "evacuation/"+evacuationName, "-n", evacuated, "-o", "svg")
	if err != nil {
		return err
	}
	path, err := built.Module("out", "bench-evacuate.svg")
	if err := errors.Join(err, os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(svg), 0o644)); err != nil {
		return err
	}
	r.Say("the picture is in %s", strconv.Quote(path))
	return nil
}
