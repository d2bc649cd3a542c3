package volumes

import (
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
)

// ViewClaim extracts from a claim the fields that decisions need. owner is the UID of the Migration. The caller
// fills in the claim's users.
func ViewClaim(claim *corev1.PersistentVolumeClaim, owner types.UID) Claim {
	view := Claim{
		Found: true, UID: claim.UID, ResourceVersion: claim.ResourceVersion, Phase: claim.Status.Phase,
		Volume: claim.Spec.VolumeName, Terminating: claim.DeletionTimestamp != nil,
		Ours:    claim.Annotations[api.OwnerAnnotationKey] == string(owner),
		OncePod: slices.Contains(claim.Spec.AccessModes, corev1.ReadWriteOncePod),
		Held:    slices.Contains(claim.Finalizers, api.ClaimFinalizer), Owned: len(claim.OwnerReferences) > 0,
	}
	view.Fence, view.Calls = unmark(claim.Annotations[api.FenceAnnotationKey])
	view.Keeps, view.DeletedAt = keeps(claim)
	for _, reference := range claim.OwnerReferences {
		view.OwnedByPod = view.OwnedByPod || reference.Kind == "Pod"
	}
	return view
}

// marked returns the value of a claim's fence annotation; unmark parses it.
func marked(fence string, calls int) string {
	if calls == 0 {
		return fence
	}
	return fence + callsSeparator + strconv.Itoa(calls)
}

func unmark(value string) (fence string, calls int) {
	fence, count, found := strings.Cut(value, callsSeparator)
	if !found {
		return value, 0
	}
	calls, err := strconv.Atoi(count)
	if err != nil || calls < 0 {
		return "", 0 // no migration wrote it, so it is marked again
	}
	return fence, calls
}

// String returns the value of the annotation: "Delete <UID>".
func (n Note) String() string { return string(n.Policy) + " " + string(n.By) }

// annotation returns that value; empty if nothing is noted.
func (n Note) annotation() string {
	if n == (Note{}) {
		return ""
	}
	return n.String()
}

// ParseNote parses such a value. A value without a UID was written by no known migration.
func ParseNote(value string) Note {
	policy, by, _ := strings.Cut(value, " ")
	return Note{Policy: corev1.PersistentVolumeReclaimPolicy(policy), By: types.UID(by)}
}

// callsSeparator occurs in no fence, which is a UID and a number.
const callsSeparator = "+"

// ViewVolume extracts from a volume the fields that decisions need. The caller fills in its attachments.
func ViewVolume(volume *corev1.PersistentVolume, owner types.UID) Volume {
	view := Volume{
		Found: true, Name: volume.Name, UID: volume.UID, ResourceVersion: volume.ResourceVersion,
		Phase:  volume.Status.Phase,
		Policy: volume.Spec.PersistentVolumeReclaimPolicy,
		Note:   ParseNote(volume.Annotations[api.OriginalReclaimPolicyAnnotationKey]),
		Class:  volume.Spec.StorageClassName, FileSystem: fileSystem(volume.Spec),
		Handle: Handle(volume), Terminating: volume.DeletionTimestamp != nil,
		Ours: volume.Annotations[api.OwnerAnnotationKey] == string(owner), Fence: volume.Annotations[api.FenceAnnotationKey],
		Chosen: chosen(volume),
		Size:   size(volume.Spec.Capacity), Modes: volume.Spec.AccessModes,
		Released: volume.Annotations[api.ReleasedAnnotationKey], Seal: volume.Annotations[api.SealAnnotationKey],
		There: volume.Annotations[api.VolumeThereAnnotationKey],
	}
	view.Keeps, view.DeletedAt = keeps(volume)
	if since := volume.Status.LastPhaseTransitionTime; since != nil {
		view.PhaseSince = since.Unix()
	}
	if class := volume.Spec.VolumeAttributesClassName; class != nil {
		view.Attributes = *class
	}
	if ref := volume.Spec.ClaimRef; ref != nil {
		view.ClaimRef = Ref{Namespace: ref.Namespace, Name: ref.Name, UID: ref.UID}
	}
	return view
}

// size returns the capacity of a volume in bytes; 0 if it is not known.
func size(capacity corev1.ResourceList) int64 {
	has := capacity[corev1.ResourceStorage]
	return has.Value()
}

// chosen reports whether the binder has bound a volume that existed before its claim. The annotation alone does
// not prove it: the binder sets it on provisioned volumes too, and names those after their claims (kubernetes
// pkg/controller/volume/persistentvolume, getProvisionedVolumeNameForClaim).
func chosen(volume *corev1.PersistentVolume) bool {
	ref := volume.Spec.ClaimRef
	return volume.Annotations[boundByController] != "" && ref != nil && volume.Name != "pvc-"+string(ref.UID)
}

// fileSystem returns the file system that a volume's spec declares.
func fileSystem(spec corev1.PersistentVolumeSpec) string {
	switch {
	case spec.VolumeMode != nil && *spec.VolumeMode == corev1.PersistentVolumeBlock:
		return "block"
	case spec.CSI != nil:
		return spec.CSI.FSType
	case spec.NFS != nil:
		return "nfs"
	case spec.Local != nil && spec.Local.FSType != nil:
		return *spec.Local.FSType
	}
	return ""
}
