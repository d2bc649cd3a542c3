// Package manifest creates the objects of snapshots, and reads from them the fields that decisions need. They
// are of the API snapshot.storage.k8s.io/v1 of kubernetes-csi/external-snapshotter, of which it needs few
// fields.
package manifest

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/volumes"
)

// Group is the API group of snapshots.
const Group = "snapshot.storage.k8s.io"

// Kinds of the snapshot API.
var (
	SnapshotKind  = schema.GroupVersionKind{Group: Group, Version: "v1", Kind: "VolumeSnapshot"}
	ContentKind   = schema.GroupVersionKind{Group: Group, Version: "v1", Kind: "VolumeSnapshotContent"}
	ClassListKind = schema.GroupVersionKind{Group: Group, Version: "v1", Kind: "VolumeSnapshotClassList"}
)

// defaultClass marks the class of a driver that is used if none is named.
const defaultClass = "snapshot.storage.kubernetes.io/is-default-class"

// Mark holds the owner of an object, and the fence under which it is created.
type Mark struct {
	Owner types.UID
	Fence string
}

// Empty returns an object with a kind and a name only.
func Empty(kind schema.GroupVersionKind, ref volumes.Ref) *unstructured.Unstructured {
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(kind)
	object.SetNamespace(ref.Namespace)
	object.SetName(ref.Name)
	return object
}

func (m Mark) object(kind schema.GroupVersionKind, ref volumes.Ref, spec map[string]any) *unstructured.Unstructured {
	object := Empty(kind, ref)
	object.SetLabels(map[string]string{api.MigrationLabelKey: string(m.Owner), "app.kubernetes.io/managed-by": api.FieldManager})
	object.SetAnnotations(map[string]string{api.OwnerAnnotationKey: string(m.Owner), api.FenceAnnotationKey: m.Fence})
	object.Object["spec"] = spec
	return object
}

// Taken returns a VolumeSnapshot of a claim.
func Taken(m Mark, ref volumes.Ref, asked volumes.SnapshotAction) *unstructured.Unstructured {
	object := m.object(SnapshotKind, ref, map[string]any{
		"volumeSnapshotClassName": asked.Class, "source": map[string]any{"persistentVolumeClaimName": asked.Claim},
	})
	if asked.Released != "" {
		annotations := object.GetAnnotations()
		annotations[api.ReleasedAnnotationKey] = asked.Released
		object.SetAnnotations(annotations)
	}
	return object
}

// Content returns a VolumeSnapshotContent for an existing snapshot, and for a VolumeSnapshot by its name. It
// has no UID of that VolumeSnapshot: the controller writes it when it binds them.
func Content(m Mark, of volumes.Ref, asked volumes.SnapshotAction, mode corev1.PersistentVolumeMode) *unstructured.Unstructured {
	return m.object(ContentKind, volumes.Ref{Name: of.Name}, map[string]any{
		"driver": asked.Driver, "deletionPolicy": string(corev1.PersistentVolumeReclaimRetain), "sourceVolumeMode": string(mode),
		"source":            map[string]any{"snapshotHandle": asked.Handle},
		"volumeSnapshotRef": map[string]any{"apiVersion": SnapshotKind.GroupVersion().String(), "kind": SnapshotKind.Kind, "namespace": of.Namespace, "name": of.Name},
	})
}

// Import returns a VolumeSnapshot for such a content.
func Import(m Mark, ref volumes.Ref, asked volumes.SnapshotAction) *unstructured.Unstructured {
	return m.object(SnapshotKind, ref, map[string]any{"source": map[string]any{"volumeSnapshotContentName": asked.Content}})
}

// DataSource returns the data source of a claim that is filled from a VolumeSnapshot.
func DataSource(name string) *corev1.TypedLocalObjectReference {
	return &corev1.TypedLocalObjectReference{APIGroup: new(Group), Kind: SnapshotKind.Kind, Name: name}
}

// SourceOf returns the VolumeSnapshot that a claim is filled from; empty if none. If both source fields are
// set, they must agree.
func SourceOf(claim *corev1.PersistentVolumeClaim) string {
	source, ref := claim.Spec.DataSource, claim.Spec.DataSourceRef
	switch {
	case source == nil || source.APIGroup == nil || *source.APIGroup != Group || source.Kind != SnapshotKind.Kind:
		return ""
	case ref != nil && (ref.APIGroup == nil || *ref.APIGroup != Group || ref.Kind != SnapshotKind.Kind || ref.Name != source.Name || ref.Namespace != nil && *ref.Namespace != claim.Namespace):
		return ""
	}
	return source.Name
}

// ViewSnapshot extracts from a VolumeSnapshot the fields that decisions need; nil means that there is none.
// owner is the UID of the Migration. The caller fills in its content.
func ViewSnapshot(object *unstructured.Unstructured, owner types.UID) volumes.Snapshot {
	if object == nil {
		return volumes.Snapshot{}
	}
	annotations := object.GetAnnotations()
	return volumes.Snapshot{
		Found: true, Terminating: object.GetDeletionTimestamp() != nil, Keeps: volumes.KeepersOf(object), UID: object.GetUID(), ResourceVersion: object.GetResourceVersion(),
		Ours:  annotations[api.OwnerAnnotationKey] == string(owner),
		Claim: text(object, "spec", "source", "persistentVolumeClaimName"), Released: annotations[api.ReleasedAnnotationKey],
		Ready: truth(object, "status", "readyToUse") && ContentOf(object) != "", Trouble: text(object, "status", "error", "message"),
	}
}

// ContentOf returns the content that a VolumeSnapshot is bound to by its status; empty if none.
func ContentOf(object *unstructured.Unstructured) string {
	if object == nil {
		return ""
	}
	return text(object, "status", "boundVolumeSnapshotContentName")
}

// ViewContent extracts from a VolumeSnapshotContent the fields that decisions need; nil means that there is
// none.
func ViewContent(object *unstructured.Unstructured, owner types.UID) volumes.SnapshotContent {
	if object == nil {
		return volumes.SnapshotContent{}
	}
	annotations := object.GetAnnotations()
	c := volumes.SnapshotContent{
		Found: true, Terminating: object.GetDeletionTimestamp() != nil, Name: object.GetName(), UID: object.GetUID(), ResourceVersion: object.GetResourceVersion(),
		Ours:   annotations[api.OwnerAnnotationKey] == string(owner),
		Driver: text(object, "spec", "driver"), Volume: text(object, "spec", "source", "volumeHandle"), Source: text(object, "spec", "source", "snapshotHandle"),
		Handle: text(object, "status", "snapshotHandle"), Retain: text(object, "spec", "deletionPolicy") == string(corev1.PersistentVolumeReclaimRetain),
		Note: volumes.ParseNote(annotations[api.OriginalReclaimPolicyAnnotationKey]), Trouble: text(object, "status", "error", "message"),
		For: volumes.Ref{
			Namespace: text(object, "spec", "volumeSnapshotRef", "namespace"), Name: text(object, "spec", "volumeSnapshotRef", "name"),
			UID: types.UID(text(object, "spec", "volumeSnapshotRef", "uid")),
		},
	}
	if size, has, err := unstructured.NestedInt64(object.Object, "status", "restoreSize"); has && err == nil {
		c.Size = &size
	}
	return c
}

// ViewClasses extracts from VolumeSnapshotClasses the fields that decisions need.
func ViewClasses(list *unstructured.UnstructuredList) []volumes.SnapshotClass {
	classes := make([]volumes.SnapshotClass, 0, len(list.Items))
	for i := range list.Items {
		object := &list.Items[i]
		classes = append(classes, volumes.SnapshotClass{
			Name: object.GetName(), Driver: text(object, "driver"), Default: object.GetAnnotations()[defaultClass] == "true",
			Retains: text(object, "deletionPolicy") != string(corev1.PersistentVolumeReclaimDelete),
		})
	}
	return classes
}

// text returns a string field; empty if it is missing or of another type.
func text(object *unstructured.Unstructured, path ...string) string {
	value, _, err := unstructured.NestedString(object.Object, path...)
	if err != nil {
		return ""
	}
	return value
}

func truth(object *unstructured.Unstructured, path ...string) bool {
	value, _, err := unstructured.NestedBool(object.Object, path...)
	return err == nil && value
}
