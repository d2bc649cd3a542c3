package engine

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/plan"
)

// TestLongNotes: a note within the API's size limit is recorded as an event; a longer one would be refused
// (G16).
func TestLongNotes(t *testing.T) {
	for name, tc := range map[string]struct {
		message string
		cut     bool
	}{
		"short":               {"waiting", false},
		"just short enough":   {strings.Repeat("a", longestNote), false},
		"too long":            {strings.Repeat("a", longestNote+1), true},
		"cut within a letter": {"a" + strings.Repeat("é", longestNote), true},
	} {
		t.Run(name, func(t *testing.T) {
			recorder := events.NewFakeRecorder(1)
			r := &Reconciler{Events: recorder}
			r.event(&api.Migration{}, "Warning", "Held", "Hold", tc.message)
			note := strings.TrimPrefix(<-recorder.Events, "Warning Held ")
			if len(note) > longestNote || !utf8.ValidString(note) {
				t.Errorf("%d bytes, valid: %t", len(note), utf8.ValidString(note))
			}
			if cut := strings.HasSuffix(note, "…"); cut != tc.cut || !cut && note != tc.message {
				t.Errorf("got %q", note)
			}
		})
	}
}

// TestK6Told: text from clusters reaches conditions, warnings and events without terminal control characters,
// because kubectl prints them unchanged.
func TestK6Told(t *testing.T) {
	const hostile, harmless = "x\x1b]52;c;ZXZpbA==\a\x1b[2J\r\u202e", `x\u001b]52;c;ZXZpbA==\u0007\u001b[2J\r\u202e`
	recorder := events.NewFakeRecorder(1)
	m := &api.Migration{}
	(&Reconciler{Events: recorder}).event(m, "Warning", "Held", "Hold", hostile)
	condition(m, api.ConditionStalled, metav1.ConditionTrue, "Held", hostile)
	renderWarnings(m, plan.Decision{Findings: []plan.Finding{{Warning: true, Object: hostile, Message: hostile, Remedy: hostile}}})
	said := m.Status.Warnings[0]
	for where, got := range map[string]string{
		"event": strings.TrimPrefix(<-recorder.Events, "Warning Held "), "condition": m.Status.Conditions[0].Message,
		"object": said.Object, "warning": said.Message, "remedy": said.Remedy,
	} {
		if got != harmless {
			t.Errorf("%s: %q, want %q", where, got, harmless)
		}
	}
}

// TestMeasured: metrics of a Migration are updated at every reconcile, also when no cluster is asked. They are
// removed after it was deleted.
func TestMeasured(t *testing.T) {
	d := newDesk(t, west("begun", 1, hasBegun), west("a", 2))
	d.reconcile("a")
	states := func() map[string]float64 {
		t.Helper()
		registry := prometheus.NewPedanticRegistry()
		registry.MustRegister(d.followed)
		families, err := registry.Gather()
		d.must(err)
		found := map[string]float64{}
		for _, family := range families {
			for _, m := range family.Metric {
				found[family.GetName()+" "+m.Label[len(m.Label)-1].GetValue()] = m.GetGauge().GetValue()
			}
		}
		return found
	}
	if got := states(); got["sliceshift_migrations queued"] != 1 {
		t.Errorf("in line: %v", got)
	}
	d.must(d.Client.Delete(t.Context(), d.get("a")))
	d.reconcile("a")
	if diff := cmp.Diff(map[string]float64{}, states()); diff != "" {
		t.Errorf("gone (-want +got):\n%s", diff)
	}
}
