// Package handoff measures this product on real control planes and compares it with the usual alternatives. One run
// starts two clusters on this machine, prints a table, writes out/bench.json, and leaves nothing running. It exits
// with 1 when a goal is missed.
//
// Three contenders move the same application, 20 ordinals with a claim each and a
// PodDisruptionBudget of maxUnavailable 1, from cluster east to cluster west:
//
//	sliceshift  the engine in this process, as "migrate run" drives it
//	script      move.sh: bash and kubectl, no budgets, no checks
//	floor       the writes of the script over raw HTTP, polling every 2 ms: the time that
//	            API servers, controllers and kubelets need on their own
//
// They take turns, in another order each round, so that a busy machine affects all of them. The timed part is the same
// for each: from the decision to move the first ordinal until the last ordinal is Ready at the destination. So an
// ordinal's share lasts from its stop to the next ordinal's stop. The steps before (preflight, the destination's
// namespace, Service and empty StatefulSet) and after (restoring budgets and reclaim policies) are not timed; the
// script does neither.
package handoff

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"runtime"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/sliceshift/sliceshift/e2e/cluster"
	"github.com/sliceshift/sliceshift/e2e/fixture"
	"github.com/sliceshift/sliceshift/e2e/measure"
)

// usualPlan is the number of ordinals whose plan is timed for the documentation.
const usualPlan = 1000

// bench is one run.
type bench struct {
	measure.Workshop
	// rounds is how often each contender moves its application. planned is how many ordinals the application has whose
	// plan is timed.
	rounds, planned int

	east, west          *cluster.Cluster
	source, destination kubernetes.Interface
	figures             figures
	trace               measure.Trace
}

// Scenario declares the flags.
func Scenario(set *flag.FlagSet) *measure.Scenario {
	b := &bench{}
	set.IntVar(&b.rounds, "rounds", 3, "how often each contender moves its application")
	set.IntVar(&b.planned, "planned", usualPlan, "of how many ordinals a plan is timed")
	traced := set.Bool("trace", false, "print where a handoff of sliceshift spends its time")
	return &measure.Scenario{
		Target: "bench", Limit: 15 * time.Minute, Begin: b.begin,
		Parts:   []measure.Part{{Name: "handoff", Run: b.handoffs}, {Name: "manager", Run: b.manager}, {Name: "plan", Run: b.plan}},
		Done:    func(seconds float64) { b.figures.Cores, b.figures.Seconds = runtime.NumCPU(), seconds },
		Figures: &b.figures, Page: b.figures.page, Usual: func() bool { return b.planned == usualPlan },
		Show: func(out io.Writer) bool {
			if *traced {
				b.trace.Show(out)
			}
			return b.figures.show(out)
		},
	}
}

func (b *bench) begin(ctx context.Context, w measure.Workshop) (end func() error, err error) {
	b.Workshop = w
	w.Say("starting two clusters, east and west")
	both, err := cluster.StartAll(ctx, cluster.Options{Log: os.Stderr}, "east", "west")
	if err != nil {
		return nil, err
	}
	b.east, b.west = both[0], both[1]
	b.source, b.destination = kubernetes.NewForConfigOrDie(b.east.RESTConfig()), kubernetes.NewForConfigOrDie(b.west.RESTConfig())
	return func() error { return cluster.StopAll(both) }, nil
}

// ordinals is the number of ordinals that a contender and the manager move.
const ordinals = 20

// contender is one way to move an application.
type contender struct {
	name string
	// prepare does the untimed preparation; nil if move does it.
	prepare func(context.Context, fixture.App) error
	move    func(context.Context, fixture.App) (measure.Timing, error)

	perOrdinal, singles []float64
}

// handoffs runs the contenders in turn.
func (b *bench) handoffs(ctx context.Context) error {
	script, err := b.newScript(ctx)
	if err != nil {
		return err
	}
	command := measure.Command{Source: b.east.RESTConfig(), Destination: b.west.RESTConfig(), Trace: &b.trace}
	var requests measure.Counts // during the handoffs of all rounds
	engine := func(ctx context.Context, app fixture.App) (measure.Timing, error) {
		taken, sent, err := command.Move(ctx, app)
		requests = requests.Add(sent)
		return taken, err
	}
	floor := &floor{source: b.source, destination: b.destination}
	contenders := []*contender{
		{name: "sliceshift", move: engine},
		{name: "script", prepare: b.prepare, move: script.move},
		{name: "floor", prepare: b.prepare, move: floor.move},
	}
	for round := range b.rounds {
		if err := b.round(ctx, contenders, round); err != nil {
			return err
		}
	}
	b.figures.takeHandoffs(contenders[0], contenders[1], contenders[2])
	b.figures.takeRequests(requests, b.rounds*ordinals)
	b.figures.Ordinals, b.figures.Rounds = ordinals, b.rounds
	return nil
}

// round runs each contender once, in another order each round. All applications are deployed before the first
// contender starts.
func (b *bench) round(ctx context.Context, contenders []*contender, round int) error {
	b.Say("round %d of %d: deploying %d applications of %d replicas", round+1, b.rounds, len(contenders), ordinals)
	apps := make([]fixture.App, len(contenders))
	for i, c := range contenders {
		apps[i] = measure.Application(fmt.Sprintf("bench-%s-%d", c.name, round), "web", ordinals)
		if err := apps[i].Deploy(ctx, b.source); err != nil {
			return err
		}
		if c.prepare == nil {
			continue
		}
		if err := c.prepare(ctx, apps[i]); err != nil {
			return fmt.Errorf("preparing the destination for %s: %w", c.name, err)
		}
	}
	for i := range contenders {
		turn := (i + round) % len(contenders)
		c, app := contenders[turn], apps[turn]
		taken, err := c.move(ctx, app)
		if err == nil {
			err = b.check(ctx, app, taken)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", c.name, err)
		}
		c.perOrdinal, c.singles = append(c.perOrdinal, taken.PerOrdinal()), append(c.singles, taken.Singles()...)
		b.Say("%-10s %.3f s an ordinal", c.name, taken.PerOrdinal())
	}
	return nil
}

// prepare creates the destination for a contender that does not create it itself.
func (b *bench) prepare(ctx context.Context, app fixture.App) error {
	app.Start, app.Replicas, app.MaxUnavailable = app.Start+app.Replicas, 0, nil
	return app.Deploy(ctx, b.destination)
}

// check verifies that the whole application has moved, with its volumes.
func (b *bench) check(ctx context.Context, app fixture.App, taken measure.Timing) error {
	if len(taken.Arrived) != int(app.Replicas) {
		return fmt.Errorf("%d of %d ordinals were timed", len(taken.Arrived), app.Replicas)
	}
	set, err := b.destination.AppsV1().StatefulSets(app.Namespace).Get(ctx, app.Name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	if *set.Spec.Replicas != app.Replicas || set.Spec.Ordinals == nil || set.Spec.Ordinals.Start != app.Start {
		return errors.New("the destination does not own all ordinals")
	}
	if err := app.AwaitReady(ctx, b.destination); err != nil {
		return err
	}
	before, err := boundVolumes(ctx, b.source, app)
	if err != nil {
		return err
	}
	after, err := boundVolumes(ctx, b.destination, app)
	if err != nil {
		return err
	}
	for claim, volume := range before {
		if after[claim] != volume {
			return fmt.Errorf("claim %s is bound to volume %q at the destination instead of %q", claim, after[claim], volume)
		}
	}
	return nil
}

// boundVolumes returns the volumes that the claims of an application name. A claim at the source may have lost its
// volume; a claim at the destination counts only if it is bound.
func boundVolumes(ctx context.Context, client kubernetes.Interface, app fixture.App) (map[string]string, error) {
	claims, err := client.CoreV1().PersistentVolumeClaims(app.Namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	if len(claims.Items) != int(app.Replicas) {
		return nil, fmt.Errorf("namespace %s has %d claims instead of %d", app.Namespace, len(claims.Items), app.Replicas)
	}
	volumes := map[string]string{}
	for i := range claims.Items {
		claim := &claims.Items[i]
		if claim.Status.Phase != corev1.ClaimPending {
			volumes[claim.Name] = claim.Spec.VolumeName
		}
	}
	return volumes, nil
}
