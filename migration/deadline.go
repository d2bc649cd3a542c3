package migration

import (
	"context"
	"time"

	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
)

// passAtMost bounds one pass, with all that it asks of both clusters: a cluster that answers each request in the last moment
// holds no worker for longer. What was not answered by then is as from a cluster that does not answer.
const passAtMost = 2 * time.Minute

// callerKey is of the context that a pass was called with.
type callerKey struct{}

// bounded is the context of a pass.
func bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	bounded, cancel := context.WithTimeout(ctx, passAtMost)
	return context.WithValue(bounded, callerKey{}, ctx), cancel
}

// caller is the context that a pass was called with.
func caller(ctx context.Context) context.Context {
	if of, is := ctx.Value(callerKey{}).(context.Context); is {
		return of
	}
	return ctx
}

// told keeps what a pass has found also when its time is over.
type told struct{ Records }

// Save implements Records.
func (r told) Save(ctx context.Context, m *api.Migration) error {
	return r.Records.Save(caller(ctx), m)
}

// Stores implements Records.
func (r told) Stores(ctx context.Context, m *api.Migration) error {
	return r.Records.Stores(caller(ctx), m)
}

// TurnBack implements Records.
func (r told) TurnBack(ctx context.Context, m *api.Migration) error {
	return r.Records.TurnBack(caller(ctx), m)
}
