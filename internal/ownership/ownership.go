// Package ownership gives the fields of an object to the field managers of the object that it replaces. Afterwards an
// apply of the same manifest has no conflict, and a field that the manifest no longer has is removed.
//
// An API server gives all fields of a new object to the manager that creates it, whatever managedFields the request has
// (kubernetes apimachinery, pkg/util/managedfields/internal, Updater.Update). It accepts the list of a later update as it
// is. So the list is a write of its own, after the creation.
package ownership

import (
	"encoding/json"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// status is the subresource whose fields belong to the controller of a kind.
const status = "status"

// Heir is an object that replaces another one.
type Heir struct {
	// APIVersion is the group and version of the new object.
	APIVersion      string
	Namespace, Name string
	// Creator is the field manager that created the new object. It keeps no field.
	Creator string
	// Former lists the managers of the replaced object that do not manage the new one.
	Former []string
}

// ManagedFields returns the managed fields of the new object: those of the replaced object, and those that other managers
// than the creator have now. It returns nil if there are none, because an API server takes an empty list as a request to
// give all fields to "before-first-apply".
func (h Heir) ManagedFields(now, replaced []metav1.ManagedFieldsEntry) []metav1.ManagedFieldsEntry {
	var all []metav1.ManagedFieldsEntry
	add := func(entry metav1.ManagedFieldsEntry) {
		same := slices.IndexFunc(all, func(e metav1.ManagedFieldsEntry) bool { return identity(e) == identity(entry) })
		if same < 0 {
			all = append(all, entry)
			return
		}
		all[same] = merged(all[same], entry)
	}
	for _, entry := range now {
		if entry.Manager != h.Creator || entry.Subresource == status {
			add(entry)
		}
	}
	for _, entry := range trusted(replaced) {
		if entry.Subresource == status || entry.Manager == h.Creator || slices.Contains(h.Former, entry.Manager) {
			continue
		}
		entry.APIVersion = h.APIVersion
		add(entry)
	}
	return all
}

// identity returns the properties by which an API server distinguishes entries. Of a manager that applies there is only
// one entry, whatever its version is.
func identity(e metav1.ManagedFieldsEntry) [4]string {
	version := e.APIVersion
	if e.Operation == metav1.ManagedFieldsOperationApply {
		version = ""
	}
	return [4]string{e.Manager, string(e.Operation), e.Subresource, version}
}

// merged returns an entry with the fields of two entries of one manager.
func merged(one, other metav1.ManagedFieldsEntry) metav1.ManagedFieldsEntry {
	fields := map[string]any{}
	for _, entry := range []metav1.ManagedFieldsEntry{one, other} {
		var tree map[string]any
		if entry.FieldsV1 == nil || json.Unmarshal(entry.FieldsV1.GetRawBytes(), &tree) != nil {
			continue
		}
		unite(fields, tree)
	}
	if text, err := json.Marshal(fields); err == nil {
		one.FieldsV1 = metav1.NewFieldsV1(string(text))
	}
	if one.Time.Before(other.Time) {
		one.Time = other.Time
	}
	return one
}

// unite adds the paths of a tree to another tree.
func unite(into, from map[string]any) {
	for key, value := range from {
		below, _ := value.(map[string]any)
		known, _ := into[key].(map[string]any)
		if known == nil {
			known = map[string]any{}
			into[key] = known
		}
		unite(known, below)
	}
}

// LastApplied returns the annotation kubectl.kubernetes.io/last-applied-configuration of the new object for that of the
// replaced one, without the given fields. kubectl apply removes the fields that this manifest has and the next one lacks.
// It returns an empty text if the annotation is not a manifest of a StatefulSet, or is too large.
func (h Heir) LastApplied(replaced string, without ...[]string) string {
	var manifest map[string]any
	if err := json.Unmarshal([]byte(replaced), &manifest); err != nil || manifest["kind"] != "StatefulSet" {
		return ""
	}
	object := unstructured.Unstructured{Object: manifest}
	object.SetAPIVersion(h.APIVersion)
	object.SetName(h.Name)
	if object.GetNamespace() != "" {
		object.SetNamespace(h.Namespace)
	}
	for _, field := range without {
		unstructured.RemoveNestedField(manifest, field...)
	}
	text, err := json.Marshal(manifest)
	if err != nil || len(text) > mostApplied {
		return ""
	}
	return string(text)
}
