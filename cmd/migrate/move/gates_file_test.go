package move

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sliceshift/sliceshift/cmd/migrate/terminal"
	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
)

// TestReadGates: a file of gates is read as the resource definition would, and what that refuses is refused.
func TestReadGates(t *testing.T) {
	const cel = ", cel: {objects: {apiVersion: v1, kind: Pod, name: a}, expression: 'true'}"
	for name, tc := range map[string]struct{ text, wrong string }{
		"one":                   {"gates: [{name: a, at: [BeforeStop, AtEnd]" + cel + "}]", ""},
		"a Job":                 {"gates: [{name: a, at: [AfterStart], job: {spec: {template: {spec: {containers: [{name: a, image: a}]}}}}}]", ""},
		"none":                  {"gates: []", ""},
		"another list":          {"[]", "does not hold"},
		"a field that is not":   {"gates: [{name: a, at: [AtEnd], every: 5s" + cel + "}]", "every"},
		"no name":               {"gates: [{at: [AtEnd]" + cel + "}]", "its name"},
		"a name twice":          {"gates: [{name: a, at: [AtEnd]" + cel + "}, {name: a, at: [AtEnd]" + cel + "}]", "another one has its name"},
		"nowhere":               {"gates: [{name: a" + cel + "}]", "at must be"},
		"somewhere else":        {"gates: [{name: a, at: [Before]" + cel + "}]", "at must be"},
		"nothing":               {"gates: [{name: a, at: [AtEnd]}]", "exactly one"},
		"two things":            {"gates: [{name: a, at: [AtEnd], http: {port: 1}" + cel + "}]", "exactly one"},
		"a pod at the end":      {"gates: [{name: a, at: [AtEnd], http: {port: 1}}]", "at the end there is none"},
		"without an interval":   {"gates: [{name: a, at: [AtEnd], intervalSeconds: 0" + cel + "}]", "intervalSeconds"},
		"before it was started": {"gates: [{name: a, at: [AtEnd], initialDelaySeconds: -1" + cel + "}]", "initialDelaySeconds"},
		"too many":              {"gates: [" + strings.TrimSuffix(strings.Repeat("{}, ", 9), ", ") + "]", "may have 8"},
	} {
		path := filepath.Join(t.TempDir(), "gates.yaml")
		if err := os.WriteFile(path, []byte(tc.text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := readGates(path)
		if (err == nil) != (tc.wrong == "") || err != nil && !strings.Contains(err.Error(), tc.wrong) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := readGates(filepath.Join(t.TempDir(), "none")); err == nil {
		t.Error("a file that is not there is read")
	}
	if gates, err := readGates(""); gates != nil || err != nil {
		t.Errorf("no file: %v, %v", gates, err)
	}
}

// TestGatesTable: what each gate answers is a line, and whether the migration waits for it.
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
