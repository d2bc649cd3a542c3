package pause

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Unconfirmed returns the reason that a resource is not paused for a StatefulSet with its mark, or nothing. Anyone
// with write access to the StatefulSet can set the mark. So the resource itself must name the StatefulSet, in a
// field that only its controller writes.
func Unconfirmed(writer *unstructured.Unstructured, set metav1.Object, apiVersion string) string {
	kind := writer.GroupVersionKind()
	group := schema.FromAPIVersionAndKind(apiVersion, "StatefulSet").Group
	switch kind.Group {
	case kustomize, helm: // the inventory of kustomize-controller and helm-controller
		id := set.GetNamespace() + "_" + set.GetName() + "_" + group + "_StatefulSet"
		if lists(writer, func(entry map[string]any) bool { return entry["id"] == id }, "status", "inventory", "entries") {
			return ""
		}
		return "status.inventory does not name " + id
	case argo:
		names := func(entry map[string]any) bool {
			return entry["group"] == group && entry["kind"] == "StatefulSet" && entry["namespace"] == set.GetNamespace() && entry["name"] == set.GetName()
		}
		if lists(writer, names, "status", "resources") {
			return ""
		}
		return fmt.Sprintf("status.resources does not name StatefulSet %s/%s", set.GetNamespace(), set.GetName())
	case keda: // a ScaledObject is found by its own reference
		return ""
	}
	if owner := metav1.GetControllerOf(set); owner == nil || owner.UID != writer.GetUID() {
		return "the owner reference names another UID"
	}
	return ""
}

// lists reports whether a list of objects in a resource has a matching element.
func lists(object *unstructured.Unstructured, matches func(map[string]any) bool, path ...string) bool {
	entries, _, _ := unstructured.NestedSlice(object.Object, path...)
	for _, entry := range entries {
		if fields, is := entry.(map[string]any); is && matches(fields) {
			return true
		}
	}
	return false
}
