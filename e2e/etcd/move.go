package main

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sliceshift/sliceshift/e2e/fixture"
	"github.com/sliceshift/sliceshift/e2e/kind/setup"
	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
)

// migration is the Migration that the manager's pod acts upon, with credentials of west: what it knows
// of etcd is the recipe's.
func migration(west *api.SecretKeyReference) (*api.Migration, error) {
	m := &api.Migration{ObjectMeta: object(name), Spec: api.MigrationSpec{
		Source:             api.SourceReference{Name: name},
		Destination:        api.DestinationReference{KubeConfigSecretRef: west},
		Volumes:            []api.VolumeSpec{{ClaimTemplate: "data", Shared: true}}, // one folder, mounted into all nodes
		ServiceAccountName: setup.Mover,
		Mode:               api.ModeRun,
	}}
	return m, fixture.ByRecipe(&m.Spec, "etcd", nil)
}

// moveAndTurn begins the move, and turns it round when one member has arrived and the next
// one is stopped.
func (r *run) moveAndTurn(ctx context.Context) error {
	west, err := setup.Credentials(ctx, r.pair.West, r.pair.East, namespace)
	if err != nil {
		return err
	}
	m, err := migration(west)
	if err != nil {
		return err
	}
	if err := setup.Create(ctx, r.pair.East, m); err != nil {
		return err
	}
	r.say("the Migration is created")
	r.move = 1
	err = r.await(ctx, func(m *api.Migration) bool {
		h := m.Status.Handoff
		return m.Status.Moved == 1 && h != nil && h.Ordinal == members-2 && isStopped(h.Step)
	})
	if err != nil {
		return fmt.Errorf("one member moved and the next one stopped: %w", err)
	}
	return r.setMode(ctx, api.ModeRollback)
}

// isStopped says that the member is down at the source.
func isStopped(step api.Step) bool {
	return step == api.StepAwaitRelease || step == api.StepCarryVolumes || step == api.StepScaleUp || step == api.StepAwaitReadiness
}

func (r *run) awaitBack(ctx context.Context) error {
	return r.awaitCompleted(ctx, api.ReasonRolledBack)
}

func (r *run) moveAgain(ctx context.Context) error {
	if err := r.setMode(ctx, api.ModeRun); err != nil {
		return err
	}
	r.move = 2
	if err := r.awaitCompleted(ctx, api.ReasonMoved); err != nil {
		return err
	}
	return r.survived()
}

func (r *run) setMode(ctx context.Context, mode api.Mode) error {
	c, err := setup.Client(r.pair.East)
	if err != nil {
		return err
	}
	r.say("mode: %s", mode)
	patch := client.RawPatch(types.MergePatchType, fmt.Appendf(nil, `{"spec":{"mode":%q}}`, mode))
	return c.Patch(ctx, &api.Migration{ObjectMeta: object(name)}, patch)
}

func (r *run) awaitCompleted(ctx context.Context, reason string) error {
	return r.await(ctx, func(m *api.Migration) bool {
		completed := meta.FindStatusCondition(m.Status.Conditions, api.ConditionCompleted)
		return completed != nil && completed.Reason == reason && m.Status.ObservedGeneration == m.Generation
	})
}

// await looks at the Migration until it is as wanted, and tells what it does meanwhile.
func (r *run) await(ctx context.Context, reached func(*api.Migration) bool) error {
	c, err := setup.Client(r.pair.East)
	if err != nil {
		return err
	}
	m := &api.Migration{}
	var last string
	err = wait.PollUntilContextCancel(ctx, poll, true, func(ctx context.Context) (bool, error) {
		if err := c.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, m); err != nil {
			return false, nil //nolint:nilerr // the API server may be away
		}
		if line := state(m); line != last {
			last = line
			r.say("%s", line)
		}
		r.strikeDue(ctx, m)
		return reached(m), nil
	})
	if err != nil {
		return fmt.Errorf("%w: %s: %+v", err, last, m.Status.Conditions)
	}
	return nil
}

// removeMigration waits until it is gone: with the namespace its rights would go before it
// could let go of the StatefulSets.
func (r *run) removeMigration(ctx context.Context) error {
	c, err := setup.Client(r.pair.East)
	if err != nil {
		return err
	}
	m := &api.Migration{ObjectMeta: object(name)}
	if err := c.Delete(ctx, m); err != nil {
		return err
	}
	return wait.PollUntilContextCancel(ctx, poll, true, func(ctx context.Context) (bool, error) {
		err := c.Get(ctx, client.ObjectKeyFromObject(m), m)
		return apierrors.IsNotFound(err), client.IgnoreNotFound(err)
	})
}

// state is what a person would look at.
func state(m *api.Migration) string {
	line := fmt.Sprintf("%d of %d members are in west", m.Status.Moved, m.Status.Total)
	if h := m.Status.Handoff; h != nil {
		line += fmt.Sprintf(", %s-%d: %s", name, h.Ordinal, h.Step)
	}
	if stalled := meta.FindStatusCondition(m.Status.Conditions, api.ConditionStalled); stalled != nil && stalled.Status == "True" {
		line += ", stalled: " + stalled.Message
	}
	return line
}
