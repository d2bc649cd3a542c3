package move

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/cmd/migrate/terminal"
)

// TestGatesTable: each gate has one line with its result, and whether the migration waits for it.
func TestGatesTable(t *testing.T) {
	var out strings.Builder
	all := []gateAnswer{
		{Gate: "quorum", At: api.GateBeforeStop, Pod: "web-2", Cluster: "east", Verdict: "Passed", Now: true, Holds: true},
		{Gate: "quorum", At: api.GateAfterStart, Cluster: "west", Verdict: notAsked, Message: "there is no such ordinal yet", Holds: true},
		{Gate: "lag", At: api.GateAtEnd, Cluster: "west", Verdict: "Failed", Reason: api.ReasonGateFailed, Message: "7 is not less than 5"},
	}
	if err := gatesTable(&out, terminal.Painter{}, all); err != nil {
		t.Fatal(err)
	}
	want := strings.Join([]string{
		"GATE     AT           POD     CLUSTER   NOW   HOLDS   ANSWER     MESSAGE",
		"quorum   BeforeStop   web-2   east      yes   yes     Passed", //nolint:dupword // two columns
		"quorum   AfterStart   -       west      no    yes     NotAsked   there is no such ordinal yet",
		"lag      AtEnd        -       west      no    no      Failed     7 is not less than 5", //nolint:dupword // two columns
		"",
	}, "\n")
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Error(diff)
	}
	out.Reset()
	if err := gatesTable(&out, terminal.Painter{}, nil); err != nil || out.String() != "It has no health gates (spec.gates).\n" {
		t.Errorf("%q, %v", out.String(), err)
	}
}
