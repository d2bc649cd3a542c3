package slice

import (
	"math"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	slicesapi "github.com/sliceshift/sliceshift/api/apps/v1alpha1"
)

func conditioned(kind string, status metav1.ConditionStatus, reason, message string) func(*slicesapi.StatefulSet) {
	return func(set *slicesapi.StatefulSet) {
		meta.SetStatusCondition(&set.Status.Conditions, metav1.Condition{Type: kind, Status: status, Reason: reason, Message: message, ObservedGeneration: set.Generation})
	}
}

func isReady(message string) func(*slicesapi.StatefulSet) {
	return conditioned(slicesapi.ConditionReady, metav1.ConditionTrue, "PodsAvailable", message)
}

func notReady(message string) func(*slicesapi.StatefulSet) {
	return conditioned(slicesapi.ConditionReady, metav1.ConditionFalse, "PodsUnavailable", message)
}

func stalled(reason, message string) func(*slicesapi.StatefulSet) {
	return conditioned(slicesapi.ConditionStalled, metav1.ConditionTrue, reason, message)
}

// TestRolloutState: a rollout is done when the controller says so, and the text is the one of kubectl.
func TestRolloutState(t *testing.T) {
	for name, tc := range map[string]struct {
		set     *slicesapi.StatefulSet
		want    string
		done    bool
		wantErr string
	}{
		"complete":       {webSlice(), "statefulset rolling update complete 3 pods at revision web-1...\n", true, ""},
		"under way":      {webSlice(updating), "waiting for statefulset rolling update to complete 1 pods at revision web-2...\n", false, ""},
		"not observed":   {webSlice(func(s *slicesapi.StatefulSet) { s.Generation = 2 }), "Waiting for statefulset spec update to be observed...\n", false, ""},
		"never observed": {webSlice(func(s *slicesapi.StatefulSet) { s.Generation, s.Status.ObservedGeneration = 0, 0 }), "Waiting for statefulset spec update to be observed...\n", false, ""},
		"not ready":      {webSlice(notReady("2 of 3 pods are available"), func(s *slicesapi.StatefulSet) { s.Status.ReadyReplicas = 2 }), "Waiting for 1 pods to be ready...\n", false, ""},
		"partition":      {webSlice(updating, partitioned(2), isReady("")), "partitioned roll out complete: 1 new pods have been updated...\n", true, ""},
		"partition, under way": {
			webSlice(updating, partitioned(1)), "Waiting for partitioned roll out to finish: 1 out of 2 new pods have been updated...\n", false, "",
		},
		"partition is an ordinal": {
			webSlice(updating, partitioned(12), isReady(""), func(s *slicesapi.StatefulSet) { s.Spec.Ordinals = &slicesapi.Ordinals{Start: 10} }),
			"partitioned roll out complete: 1 new pods have been updated...\n", true, "",
		},
		"reserved ordinals are skipped": { // ordinals 0, 2 and 3, of which 2 and 3 are in scope
			webSlice(updating, partitioned(1, intstr.FromInt32(1))), "Waiting for partitioned roll out to finish: 1 out of 2 new pods have been updated...\n", false, "",
		},
		"Y11 the largest range": { // it is not expanded, which would take 8 GiB
			webSlice(updating, partitioned(2), func(s *slicesapi.StatefulSet) {
				s.Spec.Replicas, s.Status.ReadyReplicas = new(int32(math.MaxInt32)), math.MaxInt32
			}),
			"Waiting for partitioned roll out to finish: 1 out of 2147483645 new pods have been updated...\n", false, "",
		},
		"a partition above the range": {webSlice(updating, partitioned(3), isReady("")), "partitioned roll out complete: 1 new pods have been updated...\n", true, ""},
		"Recreate": {
			webSlice(func(s *slicesapi.StatefulSet) {
				s.Spec.UpdateStrategy = slicesapi.StatefulSetUpdateStrategy{Type: slicesapi.Recreate}
			}),
			"statefulset rolling update complete 3 pods at revision web-1...\n", true, "",
		},
		"OnDelete": {
			webSlice(func(s *slicesapi.StatefulSet) {
				s.Spec.UpdateStrategy = slicesapi.StatefulSetUpdateStrategy{Type: slicesapi.OnDelete}
			}),
			"", false, "only available for the strategy types RollingUpdate and Recreate",
		},
		"deadline": {
			webSlice(updating, stalled("ProgressDeadlineExceeded", "no progress since noon")),
			"", false, `statefulset "web" exceeded its progress deadline: no progress since noon`,
		},
		"Y7 a surge pod is left": {
			webSlice(notReady("3 of 3 pods are available, 1 must be deleted"), func(s *slicesapi.StatefulSet) { s.Status.Replicas, s.Status.ReadyReplicas = 4, 4 }),
			"Waiting for roll out to finish: 3 of 3 pods are available, 1 must be deleted...\n", false, "",
		},
		"Y7 surge pods make up for pods that are missing": {
			webSlice(updating, notReady("2 of 3 pods are available, 1 must be deleted"), func(s *slicesapi.StatefulSet) { s.Status.UpdatedReplicas = 3 }),
			"Waiting for roll out to finish: 2 of 3 pods are available, 1 must be deleted...\n", false, "",
		},
		"Y7 Ready, and not yet for minReadySeconds": {
			webSlice(notReady("2 of 3 pods are available"), func(s *slicesapi.StatefulSet) { s.Status.AvailableReplicas = 2 }),
			"Waiting for roll out to finish: 2 of 3 pods are available...\n", false, "",
		},
		"Y7 a canary that is not available yet": {
			webSlice(updating, partitioned(2), notReady("2 of 3 pods are available")), "Waiting for roll out to finish: 2 of 3 pods are available...\n", false, "",
		},
		"Y7 claims grow": {
			webSlice(notReady("3 of 3 pods are available, 1 need an update to revision web-1")),
			"Waiting for roll out to finish: 3 of 3 pods are available, 1 need an update to revision web-1...\n", false, "",
		},
		"Y7 the controller has judged the former template": {
			webSlice(func(s *slicesapi.StatefulSet) { s.Generation, s.Status.ObservedGeneration = 2, 2 }), "Waiting for statefulset spec update to be observed...\n", false, "",
		},
		"Y7 the status is of the former template": {
			webSlice(func(s *slicesapi.StatefulSet) { s.Generation = 2; isReady("")(s) }), "Waiting for statefulset spec update to be observed...\n", false, "",
		},
		"Y7 nothing was judged": {webSlice(func(s *slicesapi.StatefulSet) { s.Status.Conditions = nil }), "Waiting for statefulset spec update to be observed...\n", false, ""},
		"Y7 the controller cannot read it": {
			webSlice(func(s *slicesapi.StatefulSet) { s.Generation = 2 }, stalled(slicesapi.ReasonFieldUnreadable, "spec.replicas has the wrong type")),
			"", false, `statefulset "web" is stalled: spec.replicas has the wrong type`,
		},
		"Y7 the former template was stalled": {
			webSlice(updating, stalled("ProgressDeadlineExceeded", "x"), func(s *slicesapi.StatefulSet) { s.Generation = 2 }), "Waiting for statefulset spec update to be observed...\n", false, "",
		},
		"reserveOrdinals cannot be read": {webSlice(partitioned(0, intstr.FromString("x"))), "", false, "StatefulSet shop/web: reserveOrdinals"},
	} {
		t.Run(name, func(t *testing.T) {
			got, done, err := rolloutState(tc.set)
			if got != tc.want || done != tc.done {
				t.Errorf("%q, done %v; want %q", got, done, tc.want)
			}
			if (err != nil) != (tc.wantErr != "") || err != nil && !strings.Contains(err.Error(), tc.wantErr) {
				t.Errorf("error %v, want %q", err, tc.wantErr)
			}
		})
	}
}
