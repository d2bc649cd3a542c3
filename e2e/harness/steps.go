package harness

import "testing"

// Steps runs the parts of a case as subtests. T points to the variable that holds the case's test; during a
// step it holds that of the step.
type Steps struct{ T **testing.T }

// Run runs a step. The case ends with the first failing step.
func (s Steps) Run(name string, step func(*testing.T)) {
	outer := *s.T
	outer.Helper()
	passed := outer.Run(name, func(t *testing.T) {
		*s.T = t
		step(t)
	})
	if *s.T = outer; !passed {
		outer.FailNow()
	}
}
