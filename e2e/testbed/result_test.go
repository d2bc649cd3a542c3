package testbed

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sliceshift/sliceshift/e2e/cluster"
)

var kwokDied = Death{Side: "destination", Death: cluster.Death{Role: cluster.Kwok, Time: time.Unix(0, 0), Status: "exit status 2", Log: "panic: here"}}

func TestResult(t *testing.T) {
	t.Parallel()
	dead, sick := []Death{kwokDied, kwokDied}, errors.New("no pods")
	kwok, pods := []string{"kwok of the destination died unexpectedly"}, []string{"pods did not come and go when the run was over"}
	for name, tc := range map[string]struct {
		facts   facts
		want    result
		reasons []string
	}{
		"all is well":                         {want: passed},
		"something died, and it came through": {facts: facts{deaths: dead}, want: passed, reasons: kwok},
		"it failed by itself":                 {facts: facts{failed: true}, want: migrationFailed},
		"something died":                      {facts: facts{failed: true, deaths: dead}, want: testbedBroke, reasons: kwok},
		"no pods come":                        {facts: facts{failed: true, unusable: sick}, want: testbedBroke, reasons: pods},
		"something died, and no pods come":    {facts: facts{failed: true, deaths: dead, unusable: sick}, want: testbedBroke, reasons: kwok},
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
