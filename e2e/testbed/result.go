package testbed

import (
	"slices"

	"github.com/sliceshift/sliceshift/e2e/cluster"
)

// Death is the end of a part of the testbed that nobody asked for.
type Death struct {
	cluster.Death
	// Side is the side of every move that the part's cluster plays.
	Side string
}

func (d Death) name() string { return string(d.Role) + " of the " + d.Side }

// facts are what is known of a run that is over.
type facts struct {
	// failed: something that the run asks for did not come.
	failed bool
	// violated: an auditor has proved that an invariant was broken.
	violated bool
	// deaths are the parts of the testbed that died by themselves during the run.
	deaths []Death
	// unusable is what the check of the testbed found when the run had failed.
	unusable error
}

// result is what a run comes to.
type result string

const (
	passed          result = "it passed"
	testbedBroke    result = "the testbed broke"
	migrationFailed result = "the migration failed"
)

// result tells a run whose testbed broke from one whose migration failed. A testbed is no
// excuse for a violation: the invariants hold whatever breaks. Nor is it a fault: a
// migration that comes through has passed, whatever died on its way.
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

// reasons name what broke of the testbed, each once.
func (f facts) reasons() []string {
	var reasons []string
	for _, d := range f.deaths {
		reasons = append(reasons, d.name()+" died unexpectedly")
	}
	if len(reasons) == 0 && f.unusable != nil {
		reasons = append(reasons, "pods did not come and go when the run was over")
	}
	slices.Sort(reasons)
	return slices.Compact(reasons)
}
