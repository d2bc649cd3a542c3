package model

import (
	"testing"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/migration/plan/plantest"
)

// TestNamesTurnedOffInMidMove: whichever write precedes the request to turn names off, the ordinal in flight
// completes with its name, and no other begins. After a rollback or another request, every ordinal has its name
// as accepted, and no name remains where its ordinal is not.
func TestNamesTurnedOffInMidMove(t *testing.T) {
	ask := func(y *play, names bool) {
		y.State.Spec.NameOrdinals = names
		y.version++
		y.note("names: %t", names)
	}
	for name, drop := range map[string]bool{"they are kept": false, "they go at the end": true} {
		t.Run(name, func(t *testing.T) {
			held := 0
			afterEach(t, plantest.Scenario{Replicas: 2, Spec: plan.Spec{NameOrdinals: true, DropNames: drop}}, func(_ int, y *play) {
				if y.State.Record.Baseline == nil || y.State.Record.Completed != "" {
					return
				}
				ask(y, false)
				back := y.fork()
				back.setMode(api.ModeRollback)
				back.writes(enough)
				ask(back, true) // only for the comparison with the initial state
				back.end()
				y.writes(enough)
				if y.State.Record.Completed == "" {
					y.heldWithAllUp(api.ReasonServicesChanged)
					held++
				}
				ask(y, true)
				y.end()
			})
			if held == 0 {
				t.Error("it was never held")
			}
		})
	}
}
