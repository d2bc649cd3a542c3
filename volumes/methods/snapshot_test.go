package methods

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/volumes"
	"github.com/sliceshift/sliceshift/volumes/snapshot/manifest"
)

const owner = "migration"

// sides are two clusters with an ordinal's claim at the giver's.
type sides struct {
	*testing.T
	volumes.Carrier
	pair volumes.Pair
}

func newSides(t *testing.T) *sides {
	t.Helper()
	class, mode := "slow", corev1.PersistentVolumeBlock
	claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "data-web-0"}, Spec: corev1.PersistentVolumeClaimSpec{
		StorageClassName: &class, VolumeMode: &mode, AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
	}}
	template := corev1.PodTemplateSpec{Spec: corev1.PodSpec{
		NodeSelector: map[string]string{"disk": "fast"},
		Containers: []corev1.Container{{Name: "web", Image: "web:1", Resources: corev1.ResourceRequirements{
			Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("2")},
		}}},
	}}
	return &sides{T: t, Carrier: volumes.Carrier{
		Giver: fake.NewClientBuilder().WithObjects(claim).Build(), Taker: fake.NewClientBuilder().Build(), Owner: owner,
		Template: func(context.Context) (*corev1.PodTemplateSpec, error) { return &template, nil },
	}, pair: volumes.Pair{Giver: volumes.Holding{Ref: volumes.Ref{Namespace: "shop", Name: "data-web-0"}}, Taker: volumes.Holding{Ref: volumes.Ref{Namespace: "team", Name: "data-web-0"}}}}
}

// do performs one action, which must succeed.
func (s *sides) do(action volumes.Action) {
	s.Helper()
	action.Fence = owner + ".1"
	if _, err := Write(s.Context(), s.Carrier, action, s.pair); err != nil {
		s.Fatalf("%s: %v", action.Verb, err)
	}
}

func (s *sides) get(c client.Client, kind schema.GroupVersionKind, ref volumes.Ref) *unstructured.Unstructured {
	s.Helper()
	object := manifest.Empty(kind, ref)
	if err := c.Get(s.Context(), client.ObjectKeyFromObject(object), object); err != nil {
		s.Fatal(err)
	}
	return object
}

// TestSnapshotIsTaken: a snapshot of the outgoing claim is taken with the chosen class. It survives its content
// until the content's own policy is restored.
func TestSnapshotIsTaken(t *testing.T) {
	s := newSides(t)
	ref, at := volumes.Ref{Namespace: "shop", Name: "taken"}, volumes.CopyAction{}
	at.Snapshot = volumes.SnapshotAction{Class: "nightly", Claim: "out", Released: "migration.1"}
	s.do(volumes.Action{Verb: volumes.CreateSnapshot, AtGiver: true, Ref: ref, Copy: at})
	taken := s.get(s.Giver, manifest.SnapshotKind, ref)
	if class, _, _ := unstructured.NestedString(taken.Object, "spec", "volumeSnapshotClassName"); class != "nightly" {
		t.Errorf("it is of class %q", class)
	}
	view := manifest.ViewSnapshot(taken, owner)
	if !view.Ours || view.Claim != "out" || view.Released != "migration.1" || view.Ready || taken.GetLabels()[api.MigrationLabelKey] != owner {
		t.Errorf("%+v", view)
	}

	content := manifest.Empty(manifest.ContentKind, volumes.Ref{Name: "content"})
	content.Object["spec"] = map[string]any{"driver": "d", "deletionPolicy": "Delete", "source": map[string]any{"volumeHandle": "v"}}
	if err := s.Giver.Create(t.Context(), content); err != nil {
		t.Fatal(err)
	}
	note := volumes.Note{Policy: corev1.PersistentVolumeReclaimDelete, By: owner}
	for verb, policy := range map[volumes.Verb]corev1.PersistentVolumeReclaimPolicy{volumes.RetainContent: corev1.PersistentVolumeReclaimRetain, volumes.LoosenContent: corev1.PersistentVolumeReclaimDelete} {
		now := s.get(s.Giver, manifest.ContentKind, volumes.Ref{Name: "content"})
		after := volumes.State{Policy: policy, Note: note, Fence: owner + ".1"}
		s.do(volumes.Action{Verb: verb, AtGiver: true, Ref: volumes.Ref{Name: "content"}, UID: now.GetUID(), ResourceVersion: now.GetResourceVersion(), After: after})
		if view := manifest.ViewContent(s.get(s.Giver, manifest.ContentKind, volumes.Ref{Name: "content"}), owner); view.Retain != (verb == volumes.RetainContent) || view.Note != note || view.Volume != "v" {
			t.Errorf("%s: %+v", verb, view)
		}
	}
	late := volumes.Action{Verb: volumes.RetainContent, AtGiver: true, Ref: volumes.Ref{Name: "content"}, ResourceVersion: "1"}
	if _, err := Write(t.Context(), s.Carrier, late, s.pair); !apierrors.IsConflict(err) {
		t.Errorf("a late write: %v", err)
	}
}

// TestSnapshotIsImported: a snapshot is imported by a content for its handle that retains it and is not bound
// yet, and a claim is filled from it.
func TestSnapshotIsImported(t *testing.T) {
	s := newSides(t)
	s.StorageClass = new("fast")
	ref := volumes.Ref{Namespace: "team", Name: "import"}
	s.do(volumes.Action{Verb: volumes.CreateContent, Ref: ref, Copy: volumes.CopyAction{Snapshot: volumes.SnapshotAction{Driver: "d", Handle: "snap-1"}}})
	s.do(volumes.Action{Verb: volumes.CreateImport, Ref: ref, Copy: volumes.CopyAction{Snapshot: volumes.SnapshotAction{Content: "import"}}})
	content := s.get(s.Taker, manifest.ContentKind, volumes.Ref{Name: "import"})
	want := map[string]any{
		"driver": "d", "deletionPolicy": "Retain", "sourceVolumeMode": "Block", "source": map[string]any{"snapshotHandle": "snap-1"},
		"volumeSnapshotRef": map[string]any{"apiVersion": "snapshot.storage.k8s.io/v1", "kind": "VolumeSnapshot", "namespace": "team", "name": "import"},
	}
	if diff := cmp.Diff(want, content.Object["spec"]); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	source := map[string]any{"source": map[string]any{"volumeSnapshotContentName": "import"}}
	if diff := cmp.Diff(source, s.get(s.Taker, manifest.SnapshotKind, ref).Object["spec"]); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}

	s.do(volumes.Action{Verb: volumes.CreateIncoming, Ref: volumes.Ref{Namespace: "team", Name: "in"}, Copy: volumes.CopyAction{Size: 1 << 30, Snapshot: volumes.SnapshotAction{Source: "import"}}})
	var claim corev1.PersistentVolumeClaim
	if err := s.Taker.Get(t.Context(), client.ObjectKey{Namespace: "team", Name: "in"}, &claim); err != nil {
		t.Fatal(err)
	}
	size := claim.Spec.Resources.Requests[corev1.ResourceStorage]
	if manifest.SourceOf(&claim) != "import" || size.String() != "1Gi" || *claim.Spec.StorageClassName != "fast" || *claim.Spec.VolumeMode != corev1.PersistentVolumeBlock || claim.Spec.VolumeName != "" {
		t.Errorf("%+v", claim.Spec)
	}
	claim.Spec.DataSourceRef = &corev1.TypedObjectReference{APIGroup: new(manifest.Group), Kind: "VolumeSnapshot", Name: "another"}
	if source := manifest.SourceOf(&claim); source != "" {
		t.Errorf("it is filled from %s", source)
	}
}

// TestPlaceholder: the placeholder is scheduled like a pod of the ordinal, has the same requests, and mounts
// the volume in no container.
func TestPlaceholder(t *testing.T) {
	s := newSides(t)
	s.do(volumes.Action{Verb: volumes.CreateMover, UID: "claim", Ref: volumes.Ref{Namespace: "team", Name: "in"}, Copy: volumes.CopyAction{Role: volumes.RolePlaceholder, Pod: "holder", Attempt: 1}})
	var pod corev1.Pod
	if err := s.Taker.Get(t.Context(), client.ObjectKey{Namespace: "team", Name: "holder"}, &pod); err != nil {
		t.Fatal(err)
	}
	container := pod.Spec.Containers[0]
	if len(pod.Spec.Volumes) != 1 || pod.Spec.Volumes[0].PersistentVolumeClaim.ClaimName != "in" || len(container.VolumeMounts)+len(container.VolumeDevices)+len(pod.Spec.InitContainers) > 0 {
		t.Errorf("it has %+v and mounts %+v", pod.Spec.Volumes, container)
	}
	if container.Image != "web:1" || container.Command[0] != "sleep" || container.Resources.Requests.Cpu().String() != "2" || pod.Spec.NodeSelector["disk"] != "fast" || !*pod.Spec.SecurityContext.RunAsNonRoot {
		t.Errorf("%+v", pod.Spec)
	}
	if owners := pod.OwnerReferences; len(owners) != 1 || owners[0].UID != "claim" || owners[0].Kind != "PersistentVolumeClaim" {
		t.Errorf("it goes with %+v", owners)
	}
}

// disk returns a volume that only nodes with a label can reach.
func disk(name, key, value string) *corev1.PersistentVolume {
	return &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.PersistentVolumeSpec{
		NodeAffinity: &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
			MatchExpressions: []corev1.NodeSelectorRequirement{{Key: key, Operator: corev1.NodeSelectorOpIn, Values: []string{value}}},
		}}}},
	}}
}

// TestWithinReach: a pod for which a new volume is provisioned runs within the reach of the ordinal's other
// volumes; a pod that only reads does not.
func TestWithinReach(t *testing.T) {
	for role, want := range map[volumes.Role]int{volumes.RoleReceiver: 2, volumes.RoleSender: 0, volumes.RolePlaceholder: 2} {
		t.Run(string(role), func(t *testing.T) {
			s := newSides(t)
			s.Taker = fake.NewClientBuilder().WithObjects(disk("taken", "zone", "b"), &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "anywhere"}},
				&corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "in"}}).Build()
			if err := s.Giver.Create(t.Context(), disk("given", "rack", "3")); err != nil {
				t.Fatal(err)
			}
			s.pair.Copy = &volumes.Copying{Beside: volumes.Beside{Taken: []string{"taken", "anywhere"}, Given: []string{"given"}}}
			action := volumes.Action{Verb: volumes.CreateMover, Ref: volumes.Ref{Namespace: "team", Name: "in"}, Copy: volumes.CopyAction{Role: role, Pod: "pod", Attempt: 1}}
			made, err := Write(t.Context(), s.Carrier, action, s.pair)
			if err != nil {
				t.Fatal(err)
			}
			var asked []corev1.NodeSelectorRequirement
			if affinity := made.(*corev1.Pod).Spec.Affinity; affinity != nil {
				asked = affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms[0].MatchExpressions
			}
			if len(asked) != want || want > 0 && (asked[0].Key != "zone" || asked[1].Key != "rack") {
				t.Errorf("it asks for %+v", asked)
			}
		})
	}
}
