package handoff

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/e2e/fixture"
	"github.com/sliceshift/sliceshift/e2e/measure"
)

const (
	// managerNamespace is the namespace of the application that the manager moves.
	managerNamespace = "bench-manager"
	// settled is how long nothing may be written after a migration is completed.
	settled = 30 * time.Second
	// lookAgain is the poll interval for slow conditions.
	lookAgain = 100 * time.Millisecond
)

// manager lets the real manager move an application, and observes its writes afterwards.
func (b *bench) manager(ctx context.Context) error {
	path, err := b.Command(ctx, "manager")
	if err != nil {
		return err
	}
	c, err := measure.Install(ctx, b.east.RESTConfig(), b.west.RESTConfig())
	if err != nil {
		return err
	}
	app := measure.Application(managerNamespace, "web", ordinals)
	if err := app.Deploy(ctx, b.source); err != nil {
		return err
	}
	m := measure.Migration(app)
	if err := b.lendRights(ctx, c, m); err != nil {
		return err
	}
	kubeconfig, err := b.east.UserKubeconfig(fixture.ManagerUser)
	if err != nil {
		return err
	}
	p, err := measure.StartManager(ctx, path, kubeconfig, filepath.Join(b.Dir, "manager.log"))
	if err != nil {
		return err
	}
	defer p.Kill()
	return p.Explain(b.watchManager(ctx, c, m, p))
}

func (b *bench) watchManager(ctx context.Context, c client.Client, m *api.Migration, p *measure.Manager) error {
	b.Say("the manager moves %d ordinals", ordinals)
	begin := time.Now()
	if err := c.Create(ctx, m); err != nil {
		return err
	}
	if err := awaitCompleted(ctx, c, m); err != nil {
		return err
	}
	b.figures.ManagerSecondsPerOrdinal = time.Since(begin).Seconds() / ordinals
	if err := b.awaitLastEvent(ctx); err != nil {
		return err
	}
	before, err := awaitLastWrite(ctx, p)
	if err != nil {
		return err
	}
	b.Say("completed; does the manager write anything in the next %s?", settled)
	if before.Writes == 0 {
		return errors.New("the manager counts no writes although it has moved an application")
	}
	if err := fixture.Pass(ctx, settled); err != nil {
		return err
	}
	after, err := p.Requests(ctx)
	if err != nil {
		return err
	}
	b.figures.SettledWrites = after.Writes - before.Writes
	b.figures.ManagerPeakMiB, err = p.PeakMiB()
	return err
}

func awaitCompleted(ctx context.Context, c client.Client, m *api.Migration) error {
	err := wait.PollUntilContextTimeout(ctx, lookAgain, 3*time.Minute, true, func(ctx context.Context) (bool, error) {
		err := c.Get(ctx, client.ObjectKeyFromObject(m), m)
		return meta.IsStatusConditionTrue(m.Status.Conditions, api.ConditionCompleted), err
	})
	if err != nil {
		return fmt.Errorf("the Migration was not completed: %w (%+v)", err, m.Status.Conditions)
	}
	return nil
}

// awaitLastWrite waits until the manager has not written for a while: it sends several events at once, in no order.
func awaitLastWrite(ctx context.Context, p *measure.Manager) (measure.Counts, error) {
	const quiet, most = 2 * time.Second, 20
	for range most {
		before, err := p.Requests(ctx)
		if err != nil {
			return before, err
		}
		if err := fixture.Pass(ctx, quiet); err != nil {
			return before, err
		}
		if after, err := p.Requests(ctx); err != nil || after.Writes == before.Writes {
			return after, err
		}
	}
	return measure.Counts{}, errors.New("the manager does not stop writing")
}

// awaitLastEvent waits for the event of the completion, which the manager sends after its last write to the Migration.
func (b *bench) awaitLastEvent(ctx context.Context) error {
	err := wait.PollUntilContextTimeout(ctx, lookAgain, time.Minute, true, func(ctx context.Context) (bool, error) {
		events, err := b.source.EventsV1().Events(managerNamespace).List(ctx, metav1.ListOptions{FieldSelector: "reason=" + api.ReasonMoved})
		return err == nil && len(events.Items) > 0, err
	})
	if err != nil {
		return fmt.Errorf("waiting for the event %s: %w", api.ReasonMoved, err)
	}
	return nil
}

// lendRights binds the shipped roles to the identities of the manager: a ServiceAccount at the source, and the user of
// a kubeconfig in a Secret at the destination.
func (b *bench) lendRights(ctx context.Context, c client.Client, m *api.Migration) error {
	if err := measure.AllowAccount(ctx, b.source, m.Namespace); err != nil {
		return err
	}
	if err := measure.AllowMover(ctx, b.destination); err != nil {
		return err
	}
	path, err := b.west.UserKubeconfig(measure.Mover)
	if err != nil {
		return err
	}
	secret, err := measure.KubeconfigSecret(m.Namespace, "west", path)
	if err != nil {
		return err
	}
	m.Spec.Destination.KubeConfigSecretRef = &api.SecretKeyReference{Name: secret.Name}
	return c.Create(ctx, secret)
}

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
	b.figures.Plans, err = b.timed(ctx, path, measure.Application("bench-plan", "web", int32(b.planned)), b.planned, "plan", "-o", "wide")
	b.figures.Planned = int32(b.planned)
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
