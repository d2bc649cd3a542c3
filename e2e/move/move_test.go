package move

import (
	"testing"

	"github.com/sliceshift/sliceshift/e2e/fixture"
	"github.com/sliceshift/sliceshift/e2e/harness"
)

// move is an application on its way, with the steps that the tests of this package share.
type move struct{ *harness.Move }

// newMove deploys an application in a namespace of its own.
func newMove(t testing.TB, app fixture.App, settings ...harness.Setting) *move {
	t.Helper()
	return &move{harness.NewMove(t, app, settings...)}
}

// by is a setting in which steps of this package are taken.
func by(set func(*move)) harness.Setting {
	return func(v *harness.Move) { set(&move{v}) }
}
