package preflight

import (
	"cmp"
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/sliceshift/sliceshift/migration/endpoint"
	"github.com/sliceshift/sliceshift/migration/plan"
	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
	slicesapi "github.com/sliceshift/sliceshift/slices/v1alpha1"
	"github.com/sliceshift/sliceshift/workload"
)

// unopenedGate finds a template of apps/v1 with the readiness gate of updates in place, which the
// controller of our own kind opens and nobody else: no pod that it makes gets Ready. What the
// destination has counts; without one, what it will be made of.
func unopenedGate(at endpoint.Endpoint, source, destination *appsv1.StatefulSet) []plan.Finding {
	template := cmp.Or(destination, source).Spec.Template
	is := func(g corev1.PodReadinessGate) bool { return g.ConditionType == slicesapi.InPlaceUpdateReady }
	gate := slices.IndexFunc(template.Spec.ReadinessGates, is)
	if at.Kind().OpensGate() || gate < 0 {
		return nil
	}
	return []plan.Finding{{
		Reason: api.ReasonKindUnsupported, Object: at.Object(),
		Message: fmt.Sprintf("the pod template of %s would have the readiness gate %s, which nobody opens for %s: no moved ordinal would get Ready", at.Object(), slicesapi.InPlaceUpdateReady, at.APIVersion),
		Remedy:  fmt.Sprintf("move to %s; or take spec.readinessGates[%d] out of the template before the move, which makes the pods anew", workload.SliceVersion, gate),
	}}
}
