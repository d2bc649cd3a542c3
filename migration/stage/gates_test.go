package stage

import (
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/rehearsal"
)

// TestGatesNotAsked: a rehearsal does not ask gates that its pods cannot pass, and states why. Otherwise it would wait for them
// until its time is over.
func TestGatesNotAsked(t *testing.T) {
	start := []api.GatePoint{api.GateAfterStart}
	s := &Stage{Config: Config{
		Word: &rehearsal.Word{Recipe: "toy", Safe: true, Unasked: []string{"peers"}},
		Spec: api.MigrationSpec{Gates: []api.HealthGate{
			{Name: "before", At: []api.GatePoint{api.GateBeforeStop}, HTTP: &api.HTTPGate{}},
			{Name: "metrics", At: start, Prometheus: &api.PrometheusGate{}},
			{Name: "source", At: start, Job: &api.JobGate{Side: api.GateSource}},
			{Name: "peers", At: start, HTTP: &api.HTTPGate{}},
			{Name: "node", At: start, Job: &api.JobGate{Spec: api.JobSpec{JobSpec: batchv1.JobSpec{Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{HostNetwork: true}}}}}},
		}},
	}}
	s.prepareGates()
	got := s.askGates(t.Context(), rehearsal.Record{}, []rehearsal.Pod{{}})
	if len(got) != len(s.Spec.Gates) {
		t.Fatalf("%d answers: %+v", len(got), got)
	}
	for i, want := range []string{"another moment", "running application", "at the source", "members", "can hold its Job: the pods use the network of their node"} {
		if got[i].Verdict != rehearsal.GateNotAsked || !strings.Contains(got[i].Message, want) {
			t.Errorf("gate %s: %+v, want %q", got[i].Name, got[i], want)
		}
	}
}
