package harness

import "testing"

// Steps are the parts of a case, each a subtest of its own. T is where the case keeps its test: during
// a step it is the step's.
type Steps struct{ T **testing.T }

// Run runs a step. The case ends with the first that fails.
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
