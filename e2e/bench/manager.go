package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sliceshift/sliceshift/e2e/fixture"
	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
)

const (
	// managerNamespace is where the application is that the manager moves.
	managerNamespace = "bench-manager"
	// settled is how long nothing may be written once a migration is completed.
	settled = 30 * time.Second
	// lookAgain is how often something slow is looked at.
	lookAgain = 100 * time.Millisecond
)

// manager lets the real manager move an application, and watches it afterwards.
// Leader election is off: a Lease is renewed by writing it.
func (b *bench) manager(ctx context.Context) error {
	path, err := b.program(ctx, "manager")
	if err != nil {
		return err
	}
	c, err := b.install(ctx)
	if err != nil {
		return err
	}
	app := application(managerNamespace, ordinals)
	if err := app.Deploy(ctx, b.source); err != nil {
		return err
	}
	m := fixture.NewMigration(app.Namespace, app.Name)
	m.Spec.Destination.CreateNamespace = true
	fixture.SharePaths(m, app.Claims...)
	if err := b.lendRights(ctx, c, m); err != nil {
		return err
	}
	p, err := startManager(ctx, b, path)
	if err != nil {
		return err
	}
	defer p.kill()
	if err := b.watchManager(ctx, c, m, p); err != nil {
		return fmt.Errorf("%w\nthe manager's log ends with:\n%s", errors.Join(err, p.alive()), p.logTail())
	}
	return nil
}

func (b *bench) watchManager(ctx context.Context, c client.Client, m *api.Migration, p *process) error {
	b.say("the manager moves %d ordinals", ordinals)
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
	b.say("completed; does the manager write anything in the next %s?", settled)
	before, err := p.writes(ctx)
	if err != nil {
		return err
	}
	if before == 0 {
		return errors.New("the manager counts no writes although it has moved an application")
	}
	if err := pause(ctx, settled); err != nil {
		return err
	}
	after, err := p.writes(ctx)
	if err != nil {
		return err
	}
	b.figures.SettledWrites = after - before
	b.figures.ManagerPeakMiB, err = p.peakMiB()
	return err
}

// pause waits; not longer than ctx.
func pause(ctx context.Context, duration time.Duration) error {
	timer := time.NewTimer(duration)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
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

// awaitLastEvent waits for the event that tells of the completion: events are
// written beside the reconciler, so the last one comes after the last status.
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

// lendRights binds the shipped roles to whom the manager acts as: a ServiceAccount
// at the source, and the user of a kubeconfig in a Secret at the destination.
func (b *bench) lendRights(ctx context.Context, c client.Client, m *api.Migration) error {
	const user, secret = "mover", "west"
	if err := fixture.GrantMove(ctx, b.source, "bench", account(m.Namespace, "default")); err != nil {
		return err
	}
	if err := fixture.GrantMove(ctx, b.destination, "bench", person(user)); err != nil {
		return err
	}
	path, err := b.west.UserKubeconfig(user)
	if err != nil {
		return err
	}
	kubeconfig, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	m.Spec.Destination.KubeConfigSecretRef = &api.SecretKeyReference{Name: secret}
	return c.Create(ctx, &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: m.Namespace, Name: secret},
		Data:       map[string][]byte{"value": kubeconfig},
	})
}
