package preflight

import (
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	slicesapi "github.com/sliceshift/sliceshift/api/apps/v1alpha1"
	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/endpoint"
	"github.com/sliceshift/sliceshift/workload"
)

// TestUnopenedGate: pods with the readiness gate of in-place updates become Ready only under the kind whose
// controller sets the condition.
func TestUnopenedGate(t *testing.T) {
	gated := func(gates ...corev1.PodConditionType) *appsv1.StatefulSet {
		set := &appsv1.StatefulSet{}
		for _, gate := range gates {
			set.Spec.Template.Spec.ReadinessGates = append(set.Spec.Template.Spec.ReadinessGates, corev1.PodReadinessGate{ConditionType: gate})
		}
		return set
	}
	for name, tc := range map[string]struct {
		source, destination *appsv1.StatefulSet
		version             string
		want                string
	}{
		"X-14 to apps/v1, which is to be made":       {gated("example.com/up", slicesapi.InPlaceUpdateReady), nil, workload.NativeVersion, "spec.readinessGates[1]"},
		"X-14 to apps/v1, whose template has none":   {gated(slicesapi.InPlaceUpdateReady), gated(), workload.NativeVersion, ""},
		"X-14 to apps/v1, whose template has it":     {gated(), gated(slicesapi.InPlaceUpdateReady), workload.NativeVersion, "spec.readinessGates[0]"},
		"X-14 to apps/v1, with a gate of the user's": {gated("example.com/up"), nil, workload.NativeVersion, ""},
		"X-14 to our own kind":                       {gated(slicesapi.InPlaceUpdateReady), nil, workload.SliceVersion, ""},
	} {
		t.Run(name, func(t *testing.T) {
			found := unopenedGate(endpoint.Endpoint{APIVersion: tc.version, Namespace: "shop", Set: "web"}, tc.source, tc.destination)
			if (len(found) == 0) != (tc.want == "") {
				t.Fatalf("got %+v", found)
			}
			if len(found) > 0 && (found[0].Reason != api.ReasonKindUnsupported || found[0].Warning || !strings.Contains(found[0].Remedy, tc.want)) {
				t.Errorf("got %+v", found[0])
			}
		})
	}
}
