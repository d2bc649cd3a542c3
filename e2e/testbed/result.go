package testbed

import (
	"slices"

	"github.com/sliceshift/sliceshift/e2e/cluster"
)

// Death is the unexpected end of a part of the testbed.
type Death struct {
	cluster.Death
	// Side is the side of every move that the part's cluster is.
	Side string
}

func (d Death) name() string { return string(d.Role) + " of the " + d.Side }

// facts are the known facts of a run that has ended.
type facts struct {
	// failed is true if the run did not reach a state that it requires.
	failed bool
	// violated is true if an auditor has proved that an invariant was broken.
	violated bool
	// deaths are the parts of the testbed that crashed during the run.
	deaths []Death
	// unusable is the result of the check of the testbed after the run had failed.
	unusable error
}

// result is the verdict on a run.
type result string

const (
	passed          result = "it passed"
	testbedBroke    result = "the testbed broke"
	migrationFailed result = "the migration failed"
)

// result distinguishes a run whose testbed broke from a run whose migration failed. A broken testbed does not excuse a
// violation: the invariants hold in any case. Nor is it a failure: a migration that completes has passed, whatever
// crashed meanwhile.
func (f facts) result() result {
	switch {
	case f.violated:
		return migrationFailed
	case !f.failed:
		return passed
	case len(f.deaths) > 0 || f.unusable != nil:
		return testbedBroke
	}
	return migrationFailed
}

// reasons returns the parts of the testbed that broke, each once.
func (f facts) reasons() []string {
	var reasons []string
	for _, d := range f.deaths {
		reasons = append(reasons, d.name()+" died by itself")
	}
	if len(reasons) == 0 && f.unusable != nil {
		reasons = append(reasons, "pods did not come and go when the run was over")
	}
	slices.Sort(reasons)
	return slices.Compact(reasons)
}
