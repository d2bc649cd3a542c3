package model

import (
	"fmt"
	"testing"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/plan/plantest"
)

// askFor requests another method for the volumes, as a user does.
func (y *play) askFor(method api.VolumeMethod) {
	m := &api.Migration{}
	m.Spec.Volumes, m.Status.Baseline = []api.VolumeSpec{{ClaimTemplate: oneClaim[0], Method: method}}, y.State.Record.Baseline
	y.State.Spec.Volumes = m.Spec.Volumes
	for i := range y.State.Volumes {
		y.State.Volumes[i].Method = m.AcceptedVolume(oneClaim[0]).Method
	}
	y.version++
	y.note("%s is asked for", method)
}

// TestMethodChangedInMidMove: whichever write precedes the request for another method, the ordinal in flight
// completes with its own method, and no other begins. In a rollback, each ordinal returns by the method by
// which it came. At each moment, the volume that can be mounted under an ordinal's name has the ordinal's last
// write (I2, I3, I8).
func TestMethodChangedInMidMove(t *testing.T) {
	for _, tc := range []struct{ from, to api.VolumeMethod }{
		{api.MethodRebind, api.MethodEmpty},
		{api.MethodRebind, api.MethodCopy},
		{api.MethodEmpty, api.MethodRebind},
		{api.MethodCopy, api.MethodRebind},
		{api.MethodCopy, api.MethodEmpty},
		{api.MethodCopy, api.MethodSnapshot},
		{api.MethodSnapshot, api.MethodCopy},
	} {
		t.Run(fmt.Sprintf("%s becomes %s", tc.from, tc.to), func(t *testing.T) {
			held := 0
			afterEach(t, plantest.Scenario{Replicas: 2, Templates: oneClaim, Method: tc.from}, func(_ int, y *play) {
				if y.State.Record.Baseline == nil || y.State.Record.Completed != "" {
					return
				}
				y.askFor(tc.to)
				back := y.fork()
				back.setMode(api.ModeRollback)
				back.end()
				y.writes(enough)
				if y.State.Record.Completed == "" {
					y.heldWithAllUp(api.ReasonVolumesChanged)
					held++
				}
				y.askFor(tc.from)
				y.end()
			})
			if held == 0 {
				t.Error("it was never held")
			}
		})
	}
}

// heldWithAllUp checks that the migration is held by the change, and that each ordinal has its pod.
func (y *play) heldWithAllUp(reason string) {
	y.t.Helper()
	hold := y.pass(lands).Hold // the copies are observed only in a pass
	if hold == nil || !hold.Stalled || hold.Reason != reason {
		y.t.Fatalf("got %+v, want to be held by the change\n\n%s", hold, y.story())
	}
	if up := len(y.State.Source.Pods) + len(y.State.Destination.Pods); up != int(y.State.Record.Baseline.Replicas) {
		y.t.Fatalf("%d pods are there\n\n%s", up, y.story())
	}
}
