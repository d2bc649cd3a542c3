package many

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/e2e/fixture"
	"github.com/sliceshift/sliceshift/e2e/measure"
)

const (
	// atOnce is the number of concurrent preparations.
	atOnce = 8
	// deployLimit bounds the preparation of a part.
	deployLimit = 10 * time.Minute
)

// move is an application and its destination.
type move struct {
	fixture.App
	to *side
}

// oneNamespace returns applications that share one namespace.
func oneNamespace(namespace string, migrations, ordinals int) (apps []fixture.App) {
	for i := range migrations {
		apps = append(apps, measure.Application(namespace, fmt.Sprintf("web-%03d", i), int32(ordinals)))
	}
	return apps
}

// manyNamespaces returns applications with a namespace each.
func manyNamespaces(migrations, ordinals int) (apps []fixture.App) {
	for i := range migrations {
		apps = append(apps, measure.Application(fmt.Sprintf("many-%03d", i), "web", int32(ordinals)))
	}
	return apps
}

// warmUp returns an application of one ordinal.
func warmUp(name string) fixture.App { return measure.Application("warm-up-"+name, "web", 1) }

// layout measures the moves of applications that all start at once, by a separate manager.
func (s *stage) layout(ctx context.Context, apps []fixture.App) (layoutFigures, error) {
	s.Say("deploying %d applications of %d replicas", len(apps), apps[0].Replicas)
	moves, err := s.deploy(ctx, append(apps, warmUp(apps[0].Namespace))...)
	if err != nil {
		return layoutFigures{}, err
	}
	manager, err := s.startManager(ctx, moves[len(apps)])
	if err != nil {
		return layoutFigures{}, err
	}
	defer manager.Kill()
	s.Say("creating %d Migrations", len(apps))
	f, _, err := s.measureRun(ctx, manager, moves[:len(apps)])
	return f, manager.Explain(err)
}

// deploy creates applications at the source, with the rights and the Secrets of their moves, and distributes the moves
// over the destinations. It waits until all applications are ready.
func (s *stage) deploy(ctx context.Context, apps ...fixture.App) ([]move, error) {
	ctx, cancel := context.WithTimeout(ctx, deployLimit)
	defer cancel()
	moves := make([]move, len(apps))
	namespaces := map[string][]*side{} // with the destinations of their moves
	for i, app := range apps {
		to := s.destinations[i%len(s.destinations)]
		moves[i] = move{App: app, to: to}
		if !slices.Contains(namespaces[app.Namespace], to) {
			namespaces[app.Namespace] = append(namespaces[app.Namespace], to)
		}
	}
	err := each(ctx, moves, func(ctx context.Context, m move) error { return m.Create(ctx, s.source.client) })
	if err != nil {
		return nil, err
	}
	err = each(ctx, slices.Sorted(maps.Keys(namespaces)), func(ctx context.Context, namespace string) error {
		return s.allow(ctx, namespace, namespaces[namespace])
	})
	if err != nil {
		return nil, err
	}
	return moves, s.awaitReady(ctx, apps)
}

// each calls do for each element, with limited concurrency.
func each[T any](ctx context.Context, many []T, do func(context.Context, T) error) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(atOnce)
	for _, one := range many {
		group.Go(func() error { return do(ctx, one) })
	}
	return group.Wait()
}

// allow grants the manager the rights to move the applications of a namespace.
func (s *stage) allow(ctx context.Context, namespace string, destinations []*side) error {
	if err := measure.AllowAccount(ctx, s.source.client, namespace); err != nil {
		return err
	}
	for _, to := range destinations {
		secret, err := measure.KubeconfigSecret(namespace, to.Name(), to.mover)
		if err != nil {
			return err
		}
		if _, err := s.source.client.CoreV1().Secrets(namespace).Create(ctx, secret, metav1.CreateOptions{}); err != nil {
			return err
		}
	}
	return nil
}

// awaitReady waits until all applications are ready and their disruption budgets allow a disruption.
func (s *stage) awaitReady(ctx context.Context, apps []fixture.App) error {
	waiting := map[client.ObjectKey]bool{}
	for _, app := range apps {
		waiting[client.ObjectKey{Namespace: app.Namespace, Name: app.Name}] = true
	}
	err := wait.PollUntilContextCancel(ctx, 5*lookAgain, true, func(ctx context.Context) (bool, error) {
		sets, err := s.source.client.AppsV1().StatefulSets(metav1.NamespaceAll).List(ctx, metav1.ListOptions{})
		if err != nil {
			return false, err
		}
		budgets, err := s.source.client.PolicyV1().PodDisruptionBudgets(metav1.NamespaceAll).List(ctx, metav1.ListOptions{})
		if err != nil {
			return false, err
		}
		allows := map[client.ObjectKey]bool{}
		for i := range budgets.Items {
			allows[client.ObjectKeyFromObject(&budgets.Items[i])] = budgets.Items[i].Status.DisruptionsAllowed > 0
		}
		for i := range sets.Items {
			set, key := &sets.Items[i], client.ObjectKeyFromObject(&sets.Items[i])
			if set.Status.AvailableReplicas == *set.Spec.Replicas && allows[key] {
				delete(waiting, key)
			}
		}
		return len(waiting) == 0, nil
	})
	if err != nil {
		return errors.Join(fmt.Errorf("%d of %d applications did not become ready", len(waiting), len(apps)), err)
	}
	return nil
}

// migration returns the Migration of a move.
func (m move) migration() *api.Migration {
	migration := measure.Migration(m.App)
	migration.Spec.Destination.KubeConfigSecretRef = &api.SecretKeyReference{Name: m.to.Name()}
	return migration
}

const (
	// aloneOrdinals is the number of ordinals of a StatefulSet that moves alone.
	aloneOrdinals = 20
	// aloneRounds is how often the command and the manager each move one.
	aloneRounds = 3
)

// alone lets the command and the manager move one StatefulSet each, in turn.
func (b *bench) alone(ctx context.Context, s *stage) error {
	b.Say("deploying %d applications of %d replicas", 2*aloneRounds, aloneOrdinals)
	apps := []fixture.App{warmUp("command")}
	for i := range aloneRounds {
		apps = append(apps, measure.Application(fmt.Sprintf("command-%d", i), "web", aloneOrdinals),
			measure.Application(fmt.Sprintf("manager-%d", i), "web", aloneOrdinals), warmUp(fmt.Sprintf("manager-%d", i)))
	}
	moves, err := s.deploy(ctx, apps...)
	if err != nil {
		return err
	}
	if _, err := s.byCommand(ctx, moves[0]); err != nil {
		return err
	}
	var command []contenderFigures
	var manager []managerFigures
	for i := range aloneRounds {
		turns := []func() error{
			func() error {
				f, err := s.byCommand(ctx, moves[3*i+1])
				command = append(command, f)
				b.Say("command    %.3f s a handoff", f.SecondsPerHandoff)
				return err
			},
			func() error {
				f, err := s.byManager(ctx, moves[3*i+2], moves[3*i+3])
				manager = append(manager, f)
				b.Say("manager    %.3f s a handoff", f.SecondsPerHandoff)
				return err
			},
		}
		for turn := range turns {
			if err := turns[(turn+i)%len(turns)](); err != nil {
				return err
			}
		}
	}
	b.figures.Alone = aloneOf(command, manager)
	return nil
}

// byCommand moves an application as "migrate run" does.
func (s *stage) byCommand(ctx context.Context, m move) (contenderFigures, error) {
	ctx, cancel := context.WithTimeout(ctx, s.options.limit)
	defer cancel()
	o, err := s.observe(ctx, []move{m})
	if err != nil {
		return contenderFigures{}, err
	}
	command := measure.Command{Source: s.source.RESTConfig(), Destination: m.to.RESTConfig()}
	taken, sent, err := command.Move(ctx, m.App)
	if err != nil {
		return contenderFigures{}, err
	}
	if arrived, err := o.await(ctx, time.Minute, nil, seen.hasArrived); err != nil || !arrived {
		return contenderFigures{}, errors.Join(errors.New("the command's application has not arrived"), err)
	}
	return contenderFigures{
		PerSecond: 1 / taken.PerOrdinal(), SecondsPerHandoff: o.all()[0].secondsPerHandoff(),
		ReadsPerHandoff: measure.Share(sent.Reads, int(m.Replicas)), WritesPerHandoff: measure.Share(sent.Writes, int(m.Replicas)),
	}, nil
}

// byManager moves an application by a separate manager.
func (s *stage) byManager(ctx context.Context, m, warmUp move) (managerFigures, error) {
	manager, err := s.startManager(ctx, warmUp)
	if err != nil {
		return managerFigures{}, err
	}
	defer manager.Kill()
	f, all, err := s.measureRun(ctx, manager, []move{m})
	if err == nil && f.Completed == 0 {
		err = fmt.Errorf("the manager has moved %d of %d ordinals", f.Arrived, f.Ordinals)
	}
	if err != nil {
		return managerFigures{}, manager.Explain(err)
	}
	return managerFigures{
		contenderFigures: contenderFigures{
			PerSecond: f.PerSecond, SecondsPerHandoff: all[0].secondsPerHandoff(), ReadsPerHandoff: f.ReadsPerHandoff, WritesPerHandoff: f.WritesPerHandoff,
		},
		SecondsPerOrdinal: f.Seconds / float64(f.Ordinals), PeakMiB: f.PeakMiB, CPUSeconds: f.CPUSeconds,
	}, nil
}

// aloneOf returns the medians of the rounds.
func aloneOf(command []contenderFigures, manager []managerFigures) aloneFigures {
	var f aloneFigures
	f.contenderFigures = mediansOf(command, func(c contenderFigures) contenderFigures { return c })
	f.Manager.contenderFigures = mediansOf(manager, func(m managerFigures) contenderFigures { return m.contenderFigures })
	f.Manager.SecondsPerOrdinal = medianOf(manager, func(m managerFigures) float64 { return m.SecondsPerOrdinal })
	f.Manager.PeakMiB = medianOf(manager, func(m managerFigures) float64 { return m.PeakMiB })
	f.Manager.CPUSeconds = medianOf(manager, func(m managerFigures) float64 { return m.CPUSeconds })
	f.ManagerOverCommand = f.Manager.SecondsPerHandoff / f.SecondsPerHandoff
	f.Ordinals, f.Rounds = aloneOrdinals, len(command)
	return f
}

func mediansOf[T any](rounds []T, of func(T) contenderFigures) contenderFigures {
	return contenderFigures{
		PerSecond:         medianOf(rounds, func(t T) float64 { return of(t).PerSecond }),
		SecondsPerHandoff: medianOf(rounds, func(t T) float64 { return of(t).SecondsPerHandoff }),
		ReadsPerHandoff:   medianOf(rounds, func(t T) float64 { return of(t).ReadsPerHandoff }),
		WritesPerHandoff:  medianOf(rounds, func(t T) float64 { return of(t).WritesPerHandoff }),
	}
}

func medianOf[T any](rounds []T, of func(T) float64) float64 {
	var values []float64
	for _, one := range rounds {
		values = append(values, of(one))
	}
	return measure.SpreadOf(values).Median
}
