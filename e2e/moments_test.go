package e2e

import (
	"github.com/sliceshift/sliceshift/migration"
	"github.com/sliceshift/sliceshift/migration/plan"
	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
)

// moment is a point of a move at which a test does something, once.
type moment func(do func() error) report

// when is the first pass that is as a test wants it.
func when(is func(*api.Migration, migration.Outcome) bool) moment {
	return func(do func() error) report {
		done := false
		return func(m *api.Migration, outcome migration.Outcome) error {
			if done || !is(m, outcome) {
				return nil
			}
			done = true
			return do()
		}
	}
}

// arrival is when an ordinal has arrived.
func arrival(ordinal int32) moment {
	return when(func(_ *api.Migration, outcome migration.Outcome) bool {
		return outcome.Finished != nil && outcome.Finished.Ordinal == ordinal
	})
}

// wrote is when such an effect was carried out.
func wrote(is func(*plan.Effect) bool) moment {
	return when(func(_ *api.Migration, outcome migration.Outcome) bool {
		return outcome.Wrote && is(outcome.Decision.Effect)
	})
}

// wroteOn is when an effect of that verb was carried out on a side.
func wroteOn(side plan.SideName, verb plan.Verb) moment {
	return wrote(func(e *plan.Effect) bool { return e.Side == side && e.Verb == verb })
}

// stalledWith is when a migration stalls with a reason.
func stalledWith(reason string) moment {
	return when(func(_ *api.Migration, outcome migration.Outcome) bool {
		hold := outcome.Decision.Hold
		return hold != nil && hold.Stalled && hold.Reason == reason
	})
}
