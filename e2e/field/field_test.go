package field

import (
	"bytes"
	"encoding/json"
	"errors"
	"os/exec"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sliceshift/sliceshift/e2e/child"
	"github.com/sliceshift/sliceshift/e2e/harness"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/migration/preflight"
)

// atOnce is the number of situations that run in parallel; each runs commands of the product.
const atOnce = 6

// TestField: a preflight finds exactly the problems of each situation, and a plan finds the same.
func TestField(t *testing.T) {
	all := situations(t, "situations")
	turns := make(chan struct{}, atOnce)
	for _, each := range all {
		t.Run(each.Name, func(t *testing.T) {
			t.Parallel()
			turns <- struct{}{}
			defer func() { <-turns }()
			v := each.deploy(t)
			var report preflight.Report
			said := run(v, each.command(v, "preflight"), &report)
			var found struct {
				Findings []plan.Finding `json:"findings"`
			}
			run(v, each.command(v, "plan"), &found)
			if diff := cmp.Diff(report.Findings(), found.Findings); diff != "" {
				t.Errorf("preflight and plan differ: -preflight +plan\n%s", diff)
			}
			each.judge(t, report, said)
		})
	}
	t.Logf("%d situations", len(all))
}

// judge compares the findings with the expected ones.
func (s situation) judge(t *testing.T, report preflight.Report, said string) {
	t.Helper()
	got := map[string]string{}
	for _, f := range report.Findings() {
		verdict := "fail"
		if f.Warning {
			verdict = "warn"
		}
		if got[f.Reason] != "fail" {
			got[f.Reason] = verdict
		}
		t.Logf("%s %s: %s\n  remedy: %s", verdict, f.Reason, f.Message, f.Remedy)
	}
	want := s.Found
	if want == nil {
		want = map[string]string{}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("found: -want +got\n%s", diff)
	}
	for _, text := range s.Text {
		if !strings.Contains(said, text) {
			t.Errorf("nothing says %q", text)
		}
	}
}

// run runs a command of the product, decodes its JSON document, and returns all of its output. The command may
// refuse the move.
func run(v *harness.Move, args []string, into any) string {
	v.T.Helper()
	cmd := exec.CommandContext(v.Ctx, harness.Program(v.T, "migrate"), append(args, "-o", "json")...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	v.Must(child.Start(cmd))
	var exit *exec.ExitError
	if err := cmd.Wait(); err != nil && (!errors.As(err, &exit) || exit.ExitCode() != 3) {
		v.T.Fatalf("%s: %v\n%s%s", args[0], err, out.String(), errs.String())
	}
	if err := json.Unmarshal(out.Bytes(), into); err != nil {
		v.T.Fatalf("%s: %v\n%s%s", args[0], err, out.String(), errs.String())
	}
	return out.String()
}
