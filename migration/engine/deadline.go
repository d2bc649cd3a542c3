package engine

import (
	"context"
	"time"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
)

// passAtMost bounds one pass, including all its requests to both clusters. A cluster that answers each request
// at the last moment then holds a worker no longer than this. A request that is still open counts as
// unanswered.
const passAtMost = 2 * time.Minute

// callerKey is the context key for the context that a pass was called with.
type callerKey struct{}

// bounded returns the context of a pass.
func bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	bounded, cancel := context.WithTimeout(ctx, passAtMost)
	return context.WithValue(bounded, callerKey{}, ctx), cancel
}

// caller returns the context that a pass was called with.
func caller(ctx context.Context) context.Context {
	if of, is := ctx.Value(callerKey{}).(context.Context); is {
		return of
	}
	return ctx
}

// told is a Records that still writes the result of a pass after the pass's deadline.
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
