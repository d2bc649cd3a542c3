package writers

import (
	"cmp"
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/endpoint"
	"github.com/sliceshift/sliceshift/migration/plan"
)

// Modes of a VerticalPodAutoscaler that change no running pod.
const (
	vpaOff     = "Off"
	vpaInitial = "Initial"
)

// VerticalAutoscalers warns of a VerticalPodAutoscaler over the StatefulSet of a side that changes its pods. It
// evicts them, within their budget, and its changes do not apply to the pods of the other side.
func VerticalAutoscalers(ctx context.Context, at endpoint.Endpoint) ([]plan.Finding, error) {
	all, unread, err := listIfServed(ctx, at, verticalScalerList, "verticalpodautoscalers.autoscaling.k8s.io")
	if err != nil || unread != nil {
		return unread, err
	}
	for i := range all {
		mode, _, _ := unstructured.NestedString(all[i].Object, "spec", "updatePolicy", "updateMode")
		if mode == vpaOff || !targets(&all[i], at, "targetRef") {
			continue
		}
		does := "evicts its pods during the move, and sets requests that pods of the other side do not get"
		if mode == vpaInitial {
			does = "sets requests of its pods when they start, which pods of the other side do not get"
		}
		name := all[i].GetName()
		return []plan.Finding{{
			Reason: api.ReasonAutoscaled, Object: at.Object(), Warning: true,
			Message: fmt.Sprintf("VerticalPodAutoscaler %s/%s in cluster %s (updateMode %s) %s", at.Namespace, name, at.Cluster, cmp.Or(mode, "Auto"), does),
			Remedy:  fmt.Sprintf(`switch it off until the move has ended: %s; and have one at the destination`, at.Kubectl().Do("patch", "verticalpodautoscaler", "-n", at.Namespace, name, "--type=merge", "-p", `{"spec":{"updatePolicy":{"updateMode":"Off"}}}`)),
		}}, nil
	}
	return nil, nil
}
