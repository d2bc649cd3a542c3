package workload

import (
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"

	slicesapi "github.com/sliceshift/sliceshift/api/apps/v1alpha1"
)

// TestStays: Observe reports how each kind keeps pods at a previous revision. A partition of apps/v1 counts pods; ours
// is an ordinal.
func TestStays(t *testing.T) {
	native := &appsv1.StatefulSet{}
	native.Spec.Ordinals = &appsv1.StatefulSetOrdinals{Start: 5}
	native.Spec.UpdateStrategy.RollingUpdate = &appsv1.RollingUpdateStatefulSetStrategy{Partition: new(int32(2))}
	if got := (Native{}).Observe(native, nil); got != (Facts{KeepsBelow: 7}) {
		t.Errorf("apps/v1, a partition: %+v", got)
	}
	*native.Spec.UpdateStrategy.RollingUpdate.Partition = 0
	if got := (Native{}).Observe(native, nil); got != (Facts{}) {
		t.Errorf("apps/v1, none: %+v", got)
	}
	native.Spec.UpdateStrategy.Type = appsv1.OnDeleteStatefulSetStrategyType
	if got := (Native{}).Observe(native, nil); got != (Facts{ByHand: true}) {
		t.Errorf("apps/v1, OnDelete: %+v", got)
	}
	ours := &slicesapi.StatefulSet{}
	ours.Spec.UpdateStrategy.RollingUpdate = &slicesapi.RollingUpdateStrategy{Partition: new(int32(7)), Paused: true}
	if got := (Slice{}).Observe(ours, nil); got.KeepsBelow != 7 || !got.Paused || got.ByHand || !got.Unmarked {
		t.Errorf("ours: %+v", got)
	}
	for failed, want := range map[string]bool{"": false, "web-2": true, "web-1": false} {
		ours.Status.FailedRevision, ours.Status.UpdateRevision = failed, "web-2"
		if got := (Slice{}).Observe(ours, nil); got.Failed != want {
			t.Errorf("Y4 ours, revision %q has failed: %t", failed, got.Failed)
		}
	}
	for strategy, locked := range map[*slicesapi.VolumeClaimUpdateStrategy]string{
		nil: "is not set", {Type: slicesapi.OnPodRollingUpdate}: "OnPodRollingUpdate", {Type: slicesapi.OnClaimDelete}: "",
	} {
		ours.Spec.VolumeClaimUpdateStrategy = strategy
		if got := (Slice{}).Observe(ours, nil); !strings.Contains(got.TemplatesLocked, locked) || (got.TemplatesLocked == "") != (locked == "") || (got.TemplatesUnlock == "") != (locked == "") {
			t.Errorf("ours, %+v: %q, %q", strategy, got.TemplatesLocked, got.TemplatesUnlock)
		}
	}
	ours.Spec.UpdateStrategy.Type = slicesapi.OnDelete
	ours.Annotations = map[string]string{slicesapi.MigratingAnnotationKey: "true"}
	if got := (Slice{}).Observe(ours, nil); got.KeepsBelow != 0 || got.Paused || !got.ByHand || got.Unmarked {
		t.Errorf("ours, OnDelete: %+v", got)
	}
}
