package slice

import (
	"maps"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	slicesapi "github.com/sliceshift/sliceshift/api/apps/v1alpha1"
	"github.com/sliceshift/sliceshift/slices/decide"
)

// convert returns the manifest of the other kind: the same name, labels, annotations and spec, without the identity and
// status of the old object. It keeps fields that the other kind does not know; the checks reject them.
func convert(old *unstructured.Unstructured, into schema.GroupVersion) (*unstructured.Unstructured, error) {
	source := old.DeepCopy()
	spec, _, err := unstructured.NestedMap(source.Object, "spec")
	if err != nil {
		return nil, err
	}
	dropNulls(spec)
	dropFilledIn(spec)
	if into == appsv1.SchemeGroupVersion {
		dropDefaults(spec)
	}
	if old.GroupVersionKind().Group == kruiseVersion.Group {
		convertKruise(spec)
	} else {
		convertPartition(spec, into)
	}
	out := &unstructured.Unstructured{Object: map[string]any{"spec": spec}}
	out.SetGroupVersionKind(into.WithKind("StatefulSet"))
	out.SetNamespace(source.GetNamespace())
	out.SetName(source.GetName())
	out.SetLabels(source.GetLabels())
	annotations := maps.Clone(source.GetAnnotations())
	if applied, found := annotations[corev1.LastAppliedConfigAnnotation]; found {
		if applied = heirOf(out).LastApplied(applied); applied == "" {
			delete(annotations, corev1.LastAppliedConfigAnnotation)
		} else {
			annotations[corev1.LastAppliedConfigAnnotation] = applied
		}
	}
	if len(annotations) > 0 {
		out.SetAnnotations(annotations)
	}
	if refs := source.GetOwnerReferences(); len(refs) > 0 {
		out.SetOwnerReferences(refs)
	}
	return out, nil
}

// dropNulls removes fields without a value, such as the creationTimestamp of templates.
func dropNulls(value any) {
	switch value := value.(type) {
	case map[string]any:
		for key, field := range value {
			if field == nil {
				delete(value, key)
				continue
			}
			dropNulls(field)
		}
	case []any:
		for _, item := range value {
			dropNulls(item)
		}
	}
}

// dropFilledIn removes from claim templates what apps/v1 and typed clients fill in, and no manifest has: their type and their
// status.
func dropFilledIn(spec map[string]any) {
	templates, _ := spec["volumeClaimTemplates"].([]any)
	for _, template := range templates {
		if fields, isMap := template.(map[string]any); isMap {
			for _, name := range []string{"apiVersion", "kind", "status"} {
				delete(fields, name)
			}
		}
	}
}

// dropDefaults removes our fields whose value matches the behaviour of apps/v1.
func dropDefaults(spec map[string]any) {
	drop := func(value any, path ...string) {
		if found, _, _ := unstructured.NestedFieldNoCopy(spec, path...); found == value {
			unstructured.RemoveNestedField(spec, path...)
		}
	}
	rolling := []string{"updateStrategy", "rollingUpdate"}
	drop(false, "paused")
	drop(int64(600), "progressDeadlineSeconds")
	drop(int64(0), "terminationReasonGraceSeconds")
	for _, policy := range []slicesapi.TerminationReasonPolicy{slicesapi.AnnounceIfRead, slicesapi.AnnounceAlways, slicesapi.AnnounceNever} {
		drop(string(policy), "terminationReasonPolicy") // apps/v1 announces no termination reason
	}
	drop(string(slicesapi.OnClaimDelete), "volumeClaimUpdateStrategy", "type")
	drop(false, append(rolling, "paused")...)
	drop(false, append(rolling, "prePull")...)
	drop(string(slicesapi.IfHealthyBudget), append(rolling, "unhealthyPodEvictionPolicy")...)
	drop(string(slicesapi.BudgetNone), append(rolling, "budget")...)
	drop(int64(0), append(rolling, "minReadySeconds")...)
	drop(string(slicesapi.ReCreate), append(rolling, "podUpdatePolicy")...)
	drop(string(slicesapi.Halt), append(rolling, "onFailure")...)
	for _, name := range []string{"volumeClaimUpdateStrategy", "scaleStrategy", "lifecycle"} {
		if block, isMap := spec[name].(map[string]any); isMap && len(block) == 0 {
			delete(spec, name)
		}
	}
	for _, name := range []string{"reserveOrdinals", "revisionInputs"} {
		if list, isList := spec[name].([]any); isList && len(list) == 0 {
			delete(spec, name)
		}
	}
}

// convertPartition keeps the same pods below the partition. Ours is an ordinal; that of apps/v1 counts from the first
// one.
func convertPartition(spec map[string]any, into schema.GroupVersion) {
	path := []string{"updateStrategy", "rollingUpdate", "partition"}
	partition, found, err := unstructured.NestedInt64(spec, path...)
	if !found || err != nil || partition == 0 {
		return
	}
	start, _, _ := unstructured.NestedInt64(spec, "ordinals", "start")
	replicas, found, _ := unstructured.NestedInt64(spec, "replicas")
	if !found {
		replicas = 1
	}
	if into == appsv1.SchemeGroupVersion {
		partition = int64(decide.LocalPartition(int32(partition), int32(start), int32(replicas)))
	} else {
		// A partition beyond the range holds every pod back in either kind; ours must be within it.
		partition = start + min(partition, replicas)
	}
	_ = unstructured.SetNestedField(spec, partition, path...) // the path was found
}
