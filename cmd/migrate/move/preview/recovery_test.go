package preview

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/volumes"
)

// TestLostWrites: an ordinal in flight loses no writes if it was never started at the destination, that is, while one of
// its volumes at the source is not parked. On its way back it has been started.
func TestLostWrites(t *testing.T) {
	const ordinal = 2
	volume := func(template string, method api.VolumeMethod, parked bool) plan.OrdinalVolume {
		v := plan.OrdinalVolume{Ordinal: ordinal, Template: template, Method: method}
		ref := volumes.Ref{Namespace: "shop", Name: template + "-web-2"}
		v.Source = volumes.Holding{Ref: ref, Volume: volumes.Volume{Found: true, Name: "pv-" + template, Policy: corev1.PersistentVolumeReclaimRetain, ClaimRef: volumes.Ref{Namespace: "shop", Name: "sliceshift-out-x1"}}}
		if parked {
			v.Source.Volume.ClaimRef = volumes.Parked(ref)
		}
		return v
	}
	for name, tc := range map[string]struct {
		volumes   []plan.OrdinalVolume
		direction api.Direction
		on        bool
		lost      int
	}{
		"it is being copied":             {[]plan.OrdinalVolume{volume("data", api.MethodCopy, false)}, api.Forward, true, 0},
		"one of two was taken over":      {[]plan.OrdinalVolume{volume("data", api.MethodCopy, true), volume("logs", api.MethodCopy, false)}, api.Forward, true, 0},
		"both were: it may have started": {[]plan.OrdinalVolume{volume("data", api.MethodCopy, true), volume("logs", api.MethodCopy, true)}, api.Forward, true, 2},
		"it was on its way back":         {[]plan.OrdinalVolume{volume("data", api.MethodCopy, false)}, api.Back, true, 1},
		"it has moved":                   {[]plan.OrdinalVolume{volume("data", api.MethodCopy, true)}, api.Forward, false, 1},
		"its disk comes along":           {[]plan.OrdinalVolume{volume("data", api.MethodRebind, true)}, api.Forward, true, 0},
	} {
		t.Run(name, func(t *testing.T) {
			m := &api.Migration{}
			m.Status.Baseline = &api.Baseline{Start: ordinal, Replicas: 1, DestinationCluster: "west"}
			m.Status.Fence = &api.Fence{Direction: tc.direction}
			if tc.on {
				m.Status.Handoff = &api.Handoff{Ordinal: ordinal}
			}
			s := plan.Snapshot{Volumes: tc.volumes}
			s.Record.Baseline, s.Record.Handoff = m.Status.Baseline, m.Status.Handoff
			if got := NewRecovery(m, s); len(got.Lost) != tc.lost {
				t.Errorf("lost: %q", got.Lost)
			}
		})
	}
}
