package main

import (
	"context"
	"fmt"

	"github.com/sliceshift/sliceshift/e2e/fixture"
	"github.com/sliceshift/sliceshift/e2e/kind/setup"
	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
)

// migration returns the Migration that the manager's pod handles, with credentials for west. Everything specific to
// etcd comes from the recipe.
func migration(west *api.SecretKeyReference, volume api.VolumeSpec) (*api.Migration, error) {
	m := &api.Migration{ObjectMeta: app.Meta(name), Spec: api.MigrationSpec{
		Source:             api.SourceReference{Name: name},
		Destination:        api.DestinationReference{KubeConfigSecretRef: west},
		Volumes:            []api.VolumeSpec{volume},
		ServiceAccountName: setup.Mover,
		Mode:               api.ModeRun,
	}}
	return m, fixture.ByRecipe(&m.Spec, "etcd", nil)
}

// moveAndTurn starts the move, and rolls it back when one member has arrived and the next one is stopped.
func (r *run) moveAndTurn(ctx context.Context) error {
	west, err := setup.Credentials(ctx, r.pair.West, r.pair.East, namespace)
	if err != nil {
		return err
	}
	m, err := migration(west, r.scenario.volume())
	if err != nil {
		return err
	}
	if err := setup.Create(ctx, r.pair.East, m); err != nil {
		return err
	}
	r.Say("the Migration is created")
	r.move = 1
	if err := r.Await(ctx, func(*api.Migration) bool { return r.Stopped(ctx, members-2) }); err != nil {
		return fmt.Errorf("one member moved and the next one stopped: %w", err)
	}
	return r.SetMode(ctx, api.ModeRollback)
}

func (r *run) moveAgain(ctx context.Context) error {
	r.move = 2
	if err := r.MoveAgain(ctx); err != nil {
		return err
	}
	return r.survived()
}
