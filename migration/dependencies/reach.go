package dependencies

import (
	"cmp"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
)

// Names by which an API server knows a ServiceAccount (kubernetes apiserver,
// pkg/authentication/serviceaccount).
const (
	accountUser   = "system:serviceaccount:"
	accountGroup  = "system:serviceaccounts"
	authenticated = "system:authenticated"
)

// Reaches reports whether a RoleBinding gives rights to a ServiceAccount of its own namespace, by its name, its
// user name, or one of its groups.
func Reaches(binding *unstructured.Unstructured, account string) bool {
	return ReachesIn(binding, binding.GetNamespace(), account)
}

// ReachesIn is Reaches for a binding that may be cluster-scoped.
func ReachesIn(binding *unstructured.Unstructured, namespace, account string) bool {
	return slices.ContainsFunc(items(binding.Object, "subjects"), func(subject map[string]any) bool {
		return reached(subject, binding.GetNamespace(), namespace, account)
	})
}

// Names reports whether a binding gives rights to a ServiceAccount by its name, not by one of its groups.
func Names(binding *unstructured.Unstructured, namespace, account string) bool {
	return slices.ContainsFunc(items(binding.Object, "subjects"), func(subject map[string]any) bool {
		return text(subject, "kind") != rbacv1.GroupKind && reached(subject, binding.GetNamespace(), namespace, account)
	})
}

// RoleOf returns the kind and the name of the role of a binding.
func RoleOf(binding *unstructured.Unstructured) (kind, name string) {
	return text(binding.Object, "roleRef", "kind"), text(binding.Object, "roleRef", "name")
}

// reached reports whether a subject of a binding is the account. A subject without a namespace is in the
// binding's namespace (kubernetes pkg/registry/rbac/validation/rule.go, appliesToUser).
func reached(subject map[string]any, of, namespace, account string) bool {
	name := text(subject, "name")
	switch text(subject, "kind") {
	case rbacv1.ServiceAccountKind:
		return name == account && cmp.Or(text(subject, "namespace"), of) == namespace
	case rbacv1.UserKind:
		return name == accountUser+namespace+":"+account
	case rbacv1.GroupKind:
		return name == accountGroup || name == accountGroup+":"+namespace || name == authenticated
	default:
		return false
	}
}

// Selector returns the selector by which a Service or a NetworkPolicy selects pods; nil if it selects none.
func Selector(object *unstructured.Unstructured) labels.Selector {
	switch object.GetKind() {
	case Service:
		selector, _, err := unstructured.NestedStringMap(object.Object, "spec", "selector")
		if err != nil || len(selector) == 0 {
			return nil
		}
		return labels.SelectorFromSet(selector)
	case NetworkPolicy:
		tree, _, err := unstructured.NestedMap(object.Object, "spec", "podSelector")
		if err != nil {
			return nil
		}
		var selector metav1.LabelSelector
		if runtime.DefaultUnstructuredConverter.FromUnstructured(tree, &selector) != nil {
			return nil
		}
		parsed, err := metav1.LabelSelectorAsSelector(&selector)
		if err != nil {
			return nil
		}
		return parsed
	default:
		return nil
	}
}

// own are the labels that the StatefulSet controller adds to each pod in addition to those of the template
// (kubernetes stateful_set_utils.go, newVersionedStatefulSetPod, initIdentity).
var own = []string{appsv1.StatefulSetPodNameLabel, appsv1.PodIndexLabel, appsv1.ControllerRevisionHashLabelKey}

// Selects reports whether a selector may select a pod of a set with these labels in its template. A selector
// for a single pod by name counts if the name belongs to the set.
func Selects(selector labels.Selector, set string, template map[string]string) bool {
	if selector == nil {
		return false
	}
	requirements, selectable := selector.Requirements()
	if !selectable {
		return false
	}
	return !slices.ContainsFunc(requirements, func(r labels.Requirement) bool {
		switch {
		case r.Key() == appsv1.StatefulSetPodNameLabel && len(r.Values()) > 0:
			return !slices.ContainsFunc(r.Values().UnsortedList(), func(name string) bool { return ofSet(name, set) })
		case slices.Contains(own, r.Key()):
			return false
		default:
			return !r.Matches(labels.Set(template))
		}
	})
}

// ofSet reports whether a pod has a name of the set.
func ofSet(pod, set string) bool {
	_, is := OrdinalOf(set, pod)
	return is
}

// Stranger returns the first selected pod that does not belong to the set; empty if there is none. Pods that
// have ended do not count.
func Stranger(selector labels.Selector, set string, pods []corev1.Pod) string {
	for i := range pods {
		pod := &pods[i]
		if SomebodyElses(pod, set) && selector != nil && selector.Matches(labels.Set(pod.Labels)) {
			return pod.Name
		}
	}
	return ""
}

// SomebodyElses reports whether a pod that has not ended is not a replica of the set.
func SomebodyElses(pod *corev1.Pod, set string) bool {
	return pod.Status.Phase != corev1.PodSucceeded && pod.Status.Phase != corev1.PodFailed && !ofSet(pod.Name, set)
}
