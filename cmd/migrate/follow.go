package main

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/clock"

	"github.com/sliceshift/sliceshift/internal/records"
	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
)

// refreshEvery is how often a migration is read although no change was seen: a
// watch does not tell that it was deleted.
const refreshEvery = 10 * time.Second

// follow calls look with the migration now and after each change, until look says
// that it is enough, or ctx ends.
func (k *kept) follow(ctx context.Context, ticks clock.WithTicker, look func(*api.Migration) (bool, error)) error {
	changes, stop, err := records.Follow(ctx, k.connection, k.store)
	if err != nil {
		return err
	}
	defer stop()
	ticker := ticks.NewTicker(refreshEvery)
	defer ticker.Stop()
	for m := k.Migration; ; {
		if done, err := look(m); done || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return causeOf(ctx)
		case m = <-changes:
		case <-ticker.C():
			switch fresh, err := k.store.Load(ctx); {
			case apierrors.IsNotFound(err):
				return fmt.Errorf("%s is gone from cluster %s", k.where, k.connection.Name())
			case err == nil:
				m = fresh
			}
			// Any other error may be over soon; what was seen last still stands.
		}
	}
}
