package downtime

import (
	"context"
	"errors"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/e2e/fixture"
	"github.com/sliceshift/sliceshift/e2e/measure"
	"github.com/sliceshift/sliceshift/migration/engine"
	"github.com/sliceshift/sliceshift/migration/view"
)

// samples are outages in seconds.
type samples struct {
	ours, restart, script []float64
	// recorded are the outages that the Migrations record, in the order of ours.
	recorded []float64
}

func (s *samples) add(more samples) {
	s.ours, s.restart = append(s.ours, more.ours...), append(s.restart, more.restart...)
	s.script, s.recorded = append(s.script, more.script...), append(s.recorded, more.recorded...)
}

// ours deploys an application, restarts its pod, and moves it by the engine.
func (b *bench) ours(ctx context.Context, t turn) (all samples, err error) {
	a := app(t.namespace("ours"), t.scene.size)
	defer func() { err = errors.Join(err, b.bed.clear(ctx, a.Namespace)) }()
	if _, err := b.bed.deploy(ctx, a, t.scene.size); err != nil {
		return all, err
	}
	for i := range t.restarts {
		lasted, err := b.bed.restart(ctx, a, i)
		if err != nil {
			return all, fmt.Errorf("restart: %w", err)
		}
		all.restart = append(all.restart, lasted.Seconds())
	}
	seen, recorded, err := b.move(ctx, t.scene, a)
	if err != nil {
		return all, fmt.Errorf("sliceshift: %w", err)
	}
	if err := b.bed.arrived(ctx, a, t.scene.size); err != nil {
		return all, fmt.Errorf("sliceshift: %w", err)
	}
	all.ours, all.recorded = []float64{seen.Seconds()}, []float64{recorded.Seconds()}
	b.Say("sliceshift %.2f s (recorded: %.2f), restart %.2f s", seen.Seconds(), recorded.Seconds(), measure.SpreadOf(all.restart).Median)
	return all, nil
}

// theirs deploys an application and moves it by the script.
func (b *bench) theirs(ctx context.Context, t turn) (all samples, err error) {
	a := app(t.namespace("script"), t.scene.size)
	defer func() { err = errors.Join(err, b.bed.clear(ctx, a.Namespace)) }()
	folder, err := b.bed.deploy(ctx, a, t.scene.size)
	if err != nil {
		return all, err
	}
	there := a
	there.Start, there.Replicas, there.MaxUnavailable = a.Start+a.Replicas, 0, nil
	if err := there.Deploy(ctx, b.bed.west.client); err != nil {
		return all, err
	}
	lasted, err := b.bed.timed(ctx, a, []kubernetes.Interface{b.bed.east.client, b.bed.west.client}, func() error {
		return b.script.move(ctx, t.scene, a, func() error { return t.scene.touch(folder) })
	})
	if err != nil {
		return all, fmt.Errorf("script: %w", err)
	}
	if err := b.bed.arrived(ctx, a, t.scene.size); err != nil {
		return all, fmt.Errorf("script: %w", err)
	}
	all.script = []float64{lasted.Seconds()}
	b.Say("script     %.2f s", lasted.Seconds())
	return all, nil
}

// namespace returns the namespace of a contender in a round.
func (t turn) namespace(contender string) string {
	return fmt.Sprintf("%s-%s-%.0f-%d", contender, t.scene.label(), t.attach.Seconds(), t.round)
}

// touch changes a part of the data, in a scene in which the data change.
func (s scene) touch(folder string) error {
	if !s.changes {
		return nil
	}
	return change(folder, s.size)
}

// timed returns the outage of an application's pod while do runs. The pod may serve in any of the clusters.
func (b *bed) timed(ctx context.Context, a fixture.App, in []kubernetes.Interface, do func() error) (time.Duration, error) {
	watching, err := watch(ctx, a.Namespace, podOf(a), in...)
	if err != nil {
		return 0, err
	}
	if err := do(); err != nil {
		watching.close()
		return 0, err
	}
	return watching.outage(ctx)
}

// restart lets the native controller replace the pod of an application, as kubectl rollout restart does.
func (b *bed) restart(ctx context.Context, a fixture.App, nth int) (time.Duration, error) {
	patch := fmt.Appendf(nil, `{"spec":{"template":{"metadata":{"annotations":{"kubectl.kubernetes.io/restartedAt":"%d"}}}}}`, nth)
	lasted, err := b.timed(ctx, a, []kubernetes.Interface{b.east.client}, func() error {
		_, err := b.east.client.AppsV1().StatefulSets(a.Namespace).Patch(ctx, a.Name, types.StrategicMergePatchType, patch, metav1.PatchOptions{})
		return err
	})
	if err != nil {
		return 0, err
	}
	return lasted, a.AwaitReady(ctx, b.east.client)
}

// move moves an application by the engine. It returns the outage that the benchmark has seen, and the one that the
// Migration records.
func (b *bench) move(ctx context.Context, s scene, a fixture.App) (seen, recorded time.Duration, err error) {
	folder, err := b.bed.east.mounted(ctx, a)
	if err != nil {
		return 0, 0, err
	}
	mover, err := fixture.NewMover(ctx, b.bed.east.RESTConfig(), b.bed.west.RESTConfig(), s.migration(a, b.verify))
	if err != nil {
		return 0, 0, err
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	var history *api.History
	waits := "for nothing"
	touch := toucher{touch: func() error { return s.touch(folder) }}
	seen, err = b.bed.timed(ctx, a, []kubernetes.Interface{b.bed.east.client, b.bed.west.client}, func() error {
		return mover.Run(ctx, func(m *api.Migration, outcome engine.Outcome) error {
			if outcome.Finished != nil {
				history = m.Status.History.DeepCopy()
			}
			if hold := outcome.Decision.Hold; hold != nil {
				waits = hold.Message
			}
			return touch.before(outcome)
		})
	})
	if err != nil {
		return 0, 0, fmt.Errorf("%w; it waited last: %s", err, waits)
	}
	recorded, err = recordedOutage(history)
	return seen, recorded, err
}

// toucher changes the data of an ordinal once, in the last passes of the engine before its stop.
type toucher struct {
	touch func() error
	done  bool
}

// before changes the data after the first pass that has done a step between the copies and the stop.
func (t *toucher) before(outcome engine.Outcome) error {
	if t.done {
		return nil
	}
	switch outcome.Decision.Step {
	case api.StepReserveBudget, api.StepSecureVolumes:
		t.done = true
		return t.touch()
	case api.StepScaleDown, api.StepAwaitRelease:
		return errors.New("the ordinal was stopped before its data were changed")
	default:
		return nil
	}
}

// recordedOutage returns the outage of the only handoff of a history.
func recordedOutage(history *api.History) (time.Duration, error) {
	if history == nil || len(history.Handoffs) != 1 {
		return 0, errors.New("the Migration records no handoff, or more than one")
	}
	past := history.Handoffs[0]
	down := view.DownIn(past)
	if down == nil {
		return 0, errors.New("the Migration records no outage")
	}
	return down.Outage(past.EndTime.Time), nil
}
