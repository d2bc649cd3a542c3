package view

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/view/viewtest"
)

// TestV4ExpectedOutage: a row shows the parts of the next outage, and whether they were measured. A copy that was not
// measured is named, and has no figure.
func TestV4ExpectedOutage(t *testing.T) {
	in := func(seconds int) metav1.Duration {
		return metav1.Duration{Duration: time.Duration(seconds) * time.Second}
	}
	at := metav1.NewMicroTime(viewtest.Noon)
	measured := viewtest.InFlight()
	measured.Status.History = &api.History{Handoffs: []api.PastHandoff{{
		Direction: api.Forward, StopTime: at, ReadyTime: at, Outage: api.OutageParts{Stop: in(1), Detach: in(20), Carry: in(0), Copy: in(4), Start: in(5)},
	}}}
	copied := viewtest.InFlight()
	copied.Spec.Volumes = []api.VolumeSpec{{ClaimTemplate: "data", Method: api.MethodCopy}}
	copied.Status.Baseline.Volumes = copied.Spec.Volumes
	assumed := []OutagePart{{"stop", 2}, {"detach", 2}, {"carry", 2}, {"start", 4}}
	for name, tc := range map[string]struct {
		m    *api.Migration
		want *Outage
	}{
		"measured": {measured, &Outage{30, []OutagePart{{"stop", 1}, {"detach", 20}, {"carry", 0}, {"copy", 4}, {"start", 5}}, 1, 0, "about 30s: stop 1s, detach 20s, carry 0s, copy 4s, start 5s, measured once"}},
		"assumed":  {viewtest.InFlight(), &Outage{10, assumed, 0, 0, "about 10s: stop 2s, detach 2s, carry 2s, start 4s, assumed"}},
		"copied":   {copied, &Outage{10, assumed, 0, 0, "about 10s: stop 2s, detach 2s, carry 2s, start 4s, assumed; and the last pass of its copy"}},
	} {
		if diff := cmp.Diff(tc.want, NewRow(tc.m, false).Outage); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
