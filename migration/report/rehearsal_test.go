package report

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/rehearsal"
)

// TestWithRehearsal: the report has by how much the downtime of the move differed from the rehearsal. A later rehearsal
// is not one of this move.
func TestWithRehearsal(t *testing.T) {
	began := time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
	m := &api.Migration{Status: api.MigrationStatus{Baseline: &api.Baseline{StartTime: metav1.NewTime(began)}}}
	result := rehearsal.Result{Time: began.Add(-time.Hour), Seconds: 14, Pods: make([]rehearsal.Timing, 3)}
	moved := func(direction api.Direction, seconds float64) Handoff {
		return Handoff{Direction: direction, End: &began, DownSeconds: &seconds}
	}
	forward := []Handoff{moved(api.Forward, 20), moved(api.Forward, 25), moved(api.Forward, 90), moved(api.Back, 1)}
	for name, tc := range map[string]struct {
		handoffs []Handoff
		at       time.Time
		want     string
	}{
		"longer":      {forward, result.Time, "expected 20s down for each, with a start of 14s; the move had 25s, 25 % longer"},
		"shorter":     {[]Handoff{moved(api.Forward, 15)}, result.Time, "the move had 15s, 25 % shorter"},
		"equal":       {[]Handoff{moved(api.Forward, 20)}, result.Time, "the move had 20s, as expected"},
		"none moved":  {nil, result.Time, "expected 20s down for each, with a start of 14s"},
		"a later one": {forward, began.Add(time.Hour), ""},
	} {
		t.Run(name, func(t *testing.T) {
			rehearsed := result
			rehearsed.Time = tc.at
			got := Report{Handoffs: tc.handoffs}.WithRehearsal(rehearsed, m).Rehearsal
			if (got == nil) != (tc.want == "") || got != nil && !strings.HasSuffix(got.Text, tc.want) {
				t.Errorf("%+v", got)
			}
		})
	}
	if got := (Report{}).WithRehearsal(result, &api.Migration{}).Rehearsal; got != nil {
		t.Errorf("a move that has not begun: %+v", got)
	}
}
