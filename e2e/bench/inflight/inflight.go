// Package inflight measures what spec.handoff.maxInFlight gains. It moves the same application twice from cluster east to
// cluster west: one ordinal at a time, and as many at once as its PodDisruptionBudget allows. One run starts two clusters
// on this machine, prints a table, writes out/bench-inflight.json, and leaves nothing running. It exits with 1 when a goal
// is missed.
//
// The pods take a set time to stop and to become Ready. Without that, a handoff lasts as long as its requests do, and
// these are not sent at once. The time is measured as by make bench: from the decision to move the first ordinal until the
// last one is available at the destination. The processor time of the mover and of both control planes is measured over the
// whole Migration.
package inflight

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"runtime"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes"

	"github.com/sliceshift/sliceshift/e2e/cluster"
	"github.com/sliceshift/sliceshift/e2e/measure"
)

// options are the flags.
type options struct {
	replicas, atOnce int
	stop, ready      time.Duration
}

// usual are the options for the figures of the documentation.
var usual = options{replicas: 100, atOnce: 10, stop: 500 * time.Millisecond, ready: 1500 * time.Millisecond}

// bench is one run.
type bench struct {
	measure.Workshop
	options    options
	east, west *cluster.Cluster
	figures    figures
	traces     [2]measure.Trace
}

// Scenario declares the flags.
func Scenario(set *flag.FlagSet) *measure.Scenario {
	b := &bench{options: usual}
	o := &b.options
	set.IntVar(&o.replicas, "replicas", o.replicas, "how many ordinals move")
	set.IntVar(&o.atOnce, "at-once", o.atOnce, "how many of them the second move has in flight; the budget allows as many")
	set.DurationVar(&o.stop, "stop", o.stop, "how long a pod takes to stop")
	set.DurationVar(&o.ready, "ready", o.ready, "how long a pod takes to become Ready")
	traced := set.Bool("trace", false, "print where the handoffs spend their time")
	return &measure.Scenario{
		Target: "bench-inflight", Limit: 20 * time.Minute, Begin: b.begin,
		Parts: []measure.Part{
			{Name: "several", Run: func(ctx context.Context) (err error) {
				b.figures.Several, err = b.move(ctx, "several", o.atOnce, &b.traces[0])
				return err
			}},
			{Name: "one", Run: func(ctx context.Context) (err error) {
				b.figures.One, err = b.move(ctx, "one", 1, &b.traces[1])
				return err
			}},
		},
		Done:    func(seconds float64) { b.figures.complete(*o, runtime.NumCPU(), seconds) },
		Figures: &b.figures, Page: b.figures.page, Usual: func() bool { return *o == usual },
		Show: func(out io.Writer) bool {
			for i := range b.traces {
				if *traced {
					b.traces[i].Show(out)
				}
			}
			return measure.Show(out, b.figures.rows())
		},
	}
}

func (b *bench) begin(ctx context.Context, w measure.Workshop) (end func() error, err error) {
	b.Workshop = w
	if o := b.options; o.replicas < 1 || o.atOnce < 1 || o.stop < 0 || o.ready < 0 {
		return nil, errors.New("-replicas and -at-once must be at least 1, and -stop and -ready not negative")
	}
	w.Say("starting two clusters, east and west")
	both, err := cluster.StartAll(ctx, cluster.Options{Log: os.Stderr}, "east", "west")
	if err != nil {
		return nil, err
	}
	b.east, b.west = both[0], both[1]
	return func() error { return cluster.StopAll(both) }, nil
}

// move moves an application with a number of ordinals in flight.
func (b *bench) move(ctx context.Context, name string, atOnce int, trace *measure.Trace) (run, error) {
	app := measure.Application("bench-inflight-"+name, "web", int32(b.options.replicas))
	app.MaxUnavailable, app.Policy = new(intstr.FromInt(b.options.atOnce)), appsv1.ParallelPodManagement
	app.Annotations = map[string]string{
		cluster.ReadyDelayAnnotationKey: b.options.ready.String(), cluster.DeleteDelayAnnotationKey: b.options.stop.String(),
	}
	b.Say("deploying %d replicas", app.Replicas)
	if err := app.Deploy(ctx, kubernetes.NewForConfigOrDie(b.east.RESTConfig())); err != nil {
		return run{}, err
	}
	b.Say("moving them, %d at once", atOnce)
	command := measure.Command{Source: b.east.RESTConfig(), Destination: b.west.RESTConfig(), InFlight: int32(atOnce), Trace: trace}
	before, err := usedBy(b.east, b.west)
	if err != nil {
		return run{}, err
	}
	begin := time.Now()
	taken, sent, err := command.Move(ctx, app)
	if err != nil {
		return run{}, err
	}
	after, err := usedBy(b.east, b.west)
	took := time.Since(begin)
	if err != nil {
		return run{}, err
	}
	if len(taken.Arrived) != b.options.replicas {
		return run{}, fmt.Errorf("%d of %d ordinals were timed", len(taken.Arrived), b.options.replicas)
	}
	if err := app.AwaitReady(ctx, kubernetes.NewForConfigOrDie(b.west.RESTConfig())); err != nil {
		return run{}, err
	}
	r := runOf(atOnce, taken, sent)
	r.Processors = after.shares(before, took)
	b.Say("%d at once: %.1f s, %.1f writes and %.1f reads a handoff", atOnce, r.Seconds, r.WritesPerHandoff, r.ReadsPerHandoff)
	return r, nil
}
