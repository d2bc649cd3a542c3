package move

import (
	"testing"

	"github.com/sliceshift/sliceshift/e2e/fixture"
	"github.com/sliceshift/sliceshift/e2e/harness"
)

// move is the move of an application, with helpers that the tests of this package share.
type move struct{ *harness.Move }

// newMove deploys an application in its own namespace.
func newMove(t testing.TB, app fixture.App, settings ...harness.Setting) *move {
	t.Helper()
	return &move{harness.NewMove(t, app, settings...)}
}

// by returns a setting that uses helpers of this package.
func by(set func(*move)) harness.Setting {
	return func(v *harness.Move) { set(&move{v}) }
}
