package e2e

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sliceshift/sliceshift/e2e/cluster"
)

// death is the end of a part of the bench that nobody asked for.
type death struct {
	cluster.Death
	// side is the side of every move that the part's cluster plays.
	side string
}

func (d death) name() string { return string(d.Role) + " of the " + d.side }

// facts are what is known of a run that is over.
type facts struct {
	// failed: something that the run asks for did not come.
	failed bool
	// violated: an auditor has proved that an invariant was broken.
	violated bool
	// deaths are the parts of the bench that died by themselves during the run.
	deaths []death
	// unusable is what the check of the bench found when the run had failed.
	unusable error
}

// result is what a run comes to.
type result string

const (
	passed          result = "it passed"
	benchBroke      result = "the bench broke"
	migrationFailed result = "the migration failed"
)

// result tells a run whose bench broke from one whose migration failed. A bench is no
// excuse for a violation: the invariants hold whatever breaks. Nor is it a fault: a
// migration that comes through has passed, whatever died on its way.
func (f facts) result() result {
	switch {
	case f.violated:
		return migrationFailed
	case !f.failed:
		return passed
	case len(f.deaths) > 0 || f.unusable != nil:
		return benchBroke
	}
	return migrationFailed
}

// reasons name what broke of the bench, each once.
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

var kwokDied = death{side: "destination", Death: cluster.Death{Role: cluster.Kwok, Time: time.Unix(0, 0), Status: "exit status 2", Log: "panic: here"}}

func TestResult(t *testing.T) {
	t.Parallel()
	dead, sick := []death{kwokDied, kwokDied}, errors.New("no pods")
	kwok, pods := []string{"kwok of the destination died by itself"}, []string{"pods did not come and go when the run was over"}
	for name, tc := range map[string]struct {
		facts   facts
		want    result
		reasons []string
	}{
		"all is well":                         {want: passed},
		"something died, and it came through": {facts: facts{deaths: dead}, want: passed, reasons: kwok},
		"it failed by itself":                 {facts: facts{failed: true}, want: migrationFailed},
		"something died":                      {facts: facts{failed: true, deaths: dead}, want: benchBroke, reasons: kwok},
		"no pods come":                        {facts: facts{failed: true, unusable: sick}, want: benchBroke, reasons: pods},
		"something died, and no pods come":    {facts: facts{failed: true, deaths: dead, unusable: sick}, want: benchBroke, reasons: kwok},
		"violated":                            {facts: facts{failed: true, violated: true}, want: migrationFailed},
		"violated, and it came through":       {facts: facts{violated: true}, want: migrationFailed},
		"violated, and something died":        {facts: facts{failed: true, violated: true, deaths: dead, unusable: sick}, want: migrationFailed, reasons: kwok},
	} {
		t.Run(name, func(t *testing.T) {
			if have := tc.facts.result(); have != tc.want {
				t.Errorf("%s, want: %s", have, tc.want)
			}
			if diff := cmp.Diff(tc.reasons, tc.facts.reasons()); diff != "" {
				t.Errorf("reasons (-want +have):\n%s", diff)
			}
		})
	}
}
