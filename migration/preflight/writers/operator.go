package writers

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/sliceshift/sliceshift/migration/endpoint"
	"github.com/sliceshift/sliceshift/migration/plan"
	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
)

// pause is the documented setting of a resource under which its operator leaves alone what it has
// made. It is no pause where the operator takes its pods away.
type pause struct {
	// group is the resource's API group; with a dot before it, each one that ends like this.
	group string
	// path leads to the setting, and value switches the operator off.
	path  []string
	value any
}

// pauses are those of operators that keep StatefulSets.
var pauses = []pause{
	{"kafka.strimzi.io", annotation("strimzi.io/pause-reconciliation"), "true"},
	{"core.strimzi.io", annotation("strimzi.io/pause-reconciliation"), "true"},
	{".k8s.elastic.co", annotation("eck.k8s.elastic.co/managed"), "false"},
	{"rabbitmq.com", []string{"metadata", "labels", "rabbitmq.com/pauseReconciliation"}, "true"},
	{"platform.confluent.io", annotation("platform.confluent.io/block-reconcile"), "true"},
	{"stackgres.io", annotation("stackgres.io/reconciliation-pause"), "true"},
	{"monitoring.coreos.com", []string{"spec", "paused"}, true},
	{"operator.victoriametrics.com", []string{"spec", "paused"}, true},
	{"pingcap.com", []string{"spec", "paused"}, true},
	{"k8s.mariadb.com", []string{"spec", "suspend"}, true},
}

func annotation(key string) []string { return []string{"metadata", "annotations", key} }

// pauseOf is the pause of a group's operator; nil: none is known.
func pauseOf(group string) *pause {
	for i, each := range pauses {
		if each.group == group || strings.HasPrefix(each.group, ".") && strings.HasSuffix(group, each.group) {
			return &pauses[i]
		}
	}
	return nil
}

// set says whether a resource has the setting.
func (p pause) set(owner *unstructured.Unstructured) bool {
	value, found, err := unstructured.NestedFieldNoCopy(owner.Object, p.path...)
	return found && err == nil && reflect.DeepEqual(value, p.value)
}

// patch is the merge patch that makes the setting.
func (p pause) patch() string {
	value := p.value
	for _, key := range slices.Backward(p.path) {
		value = map[string]any{key: value}
	}
	text, err := json.Marshal(value)
	if err != nil {
		panic(err) // strings and booleans only
	}
	return string(text)
}

// Operator finds a controller above the StatefulSet, which would write replicas back. One whose resource
// is paused is a warning: it must stay so.
func Operator(ctx context.Context, at endpoint.Endpoint, set *appsv1.StatefulSet) ([]plan.Finding, error) {
	owner := metav1.GetControllerOf(set)
	if owner == nil {
		return nil, nil
	}
	kinds := schema.FromAPIVersionAndKind(owner.APIVersion, owner.Kind)
	pause := pauseOf(kinds.Group)
	if pause == nil {
		return []plan.Finding{owned(at, owner, orphan(at))}, nil
	}
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(kinds)
	err := at.Live.Get(ctx, at.Key(owner.Name), object)
	switch {
	case err == nil && pause.set(object):
		return []plan.Finding{{
			Reason: api.ReasonOwnedByOperator, Object: at.Object(), Warning: true,
			Message: fmt.Sprintf("%s is controlled by %s %s, which is paused: as soon as that ends it writes replicas back", at.Object(), owner.Kind, owner.Name),
			Remedy:  "leave it paused until the move has ended, and give the destination to an operator there before that",
		}}, nil
	case err != nil && !apierrors.IsForbidden(err) && !apierrors.IsNotFound(err) && !meta.IsNoMatchError(err):
		return nil, fmt.Errorf("cluster %s: reading %s %s: %w", at.Cluster, owner.Kind, at.Key(owner.Name), err)
	}
	remedy := fmt.Sprintf("pause it: kubectl patch %s.%s -n %s %s --type=merge -p '%s'", strings.ToLower(owner.Kind), kinds.Group, at.Namespace, owner.Name, pause.patch())
	if apierrors.IsForbidden(err) {
		remedy += "; and grant the identity used in cluster " + at.Cluster + " the right to get it, so that the pause is seen; or " + orphan(at)
	}
	return []plan.Finding{owned(at, owner, remedy)}, nil
}

func owned(at endpoint.Endpoint, owner *metav1.OwnerReference, remedy string) plan.Finding {
	return plan.Finding{
		Reason: api.ReasonOwnedByOperator, Object: at.Object(),
		Message: fmt.Sprintf("%s is controlled by %s %s, which would write replicas back in mid-move", at.Object(), owner.Kind, owner.Name),
		Remedy:  remedy,
	}
}

func orphan(at endpoint.Endpoint) string {
	return fmt.Sprintf("pause the operator and orphan the StatefulSet: kubectl patch %s -n %s %s --type=json -p '[{\"op\":\"remove\",\"path\":\"/metadata/ownerReferences\"}]'", at.Resource(), at.Namespace, at.Set)
}
