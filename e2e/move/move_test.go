package move

import (
	"testing"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/e2e/fixture"
	"github.com/sliceshift/sliceshift/e2e/harness"
)

// move is the move of an application, with helpers that the tests of this package share.
type move struct {
	*harness.Move
	// past is the history of the migration as the last pass saw it, see remember.
	past *api.History
}

// newMove deploys an application in its own namespace.
func newMove(t testing.TB, app fixture.App, settings ...harness.Setting) *move {
	t.Helper()
	return &move{Move: harness.NewMove(t, app, settings...)}
}

// by returns a setting that uses helpers of this package.
func by(set func(*move)) harness.Setting {
	return func(v *harness.Move) { set(&move{Move: v}) }
}
