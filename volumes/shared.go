package volumes

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/sliceshift/sliceshift/internal/shell"
)

// Shareable returns why a claim that all ordinals share cannot have a second volume object in another cluster;
// nil if it can. With that object, pods of the two clusters mount its storage during a move. The volume is nil if
// the claim's does not exist; kubectl builds commands for the claim's cluster.
//
// Only NFS and CSI volumes can be shared: every other source within Kubernetes is a disk of one machine, or a
// path on it.
func Shareable(claim *corev1.PersistentVolumeClaim, volume *corev1.PersistentVolume, kubectl shell.Kubectl) *Reason {
	name := claim.Namespace + "/" + claim.Name
	switch {
	case claim.Spec.VolumeName == "" || volume == nil || claim.Status.Phase != corev1.ClaimBound || !boundTo(volume, claim):
		return Stalled(
			ReasonClaimNotBound,
			fmt.Sprintf("claim %s, which all ordinals share, is not bound to a volume that names it: the storage that the moved ordinals would share is unknown", name),
			kubectl.Do("describe", "pvc", "-n", claim.Namespace, claim.Name),
		)
	case !several(claim.Spec.AccessModes) || !several(volume.Spec.AccessModes):
		return Stalled(
			ReasonClaimNotShareable,
			fmt.Sprintf("claim %s, which all ordinals share, is %s, and its volume %s %s: only one node may mount it, and during the move nodes of two clusters would",
				name, modes(claim.Spec.AccessModes), volume.Name, modes(volume.Spec.AccessModes)),
			"put the shared data on a ReadWriteMany volume that both clusters reach; or create a claim of that name at the destination yourself, on its own storage if the data are only read",
		)
	case volume.Spec.NFS == nil && volume.Spec.CSI == nil:
		return Stalled(
			ReasonClaimNotShareable,
			fmt.Sprintf("volume %s of claim %s, which all ordinals share, is of %s: only volumes of NFS and of CSI drivers are known to be the same in another cluster", volume.Name, name, driverOf(volume)),
			"put the shared data on NFS or a CSI driver that both clusters reach; or create a claim of that name at the destination yourself, on the same storage",
		)
	case volume.Spec.PersistentVolumeReclaimPolicy != corev1.PersistentVolumeReclaimRetain:
		return Stalled(
			ReasonVolumeNotRetain,
			fmt.Sprintf("volume %s of claim %s, which all ordinals share, has reclaim policy %s: deleting the claim later also deletes the storage that the destination uses", volume.Name, name, volume.Spec.PersistentVolumeReclaimPolicy),
			kubectl.Do("patch", "pv", volume.Name, "-p", `{"spec":{"persistentVolumeReclaimPolicy":"Retain"}}`),
		)
	}
	return nil
}

func boundTo(volume *corev1.PersistentVolume, claim *corev1.PersistentVolumeClaim) bool {
	ref := volume.Spec.ClaimRef
	return ref != nil && ref.Namespace == claim.Namespace && ref.Name == claim.Name && ref.UID == claim.UID
}

// several reports whether more than one machine may have a volume mounted.
func several(all []corev1.PersistentVolumeAccessMode) bool {
	return slices.Contains(all, corev1.ReadWriteMany) || slices.Contains(all, corev1.ReadOnlyMany)
}

func modes(all []corev1.PersistentVolumeAccessMode) string {
	if len(all) == 0 {
		return "without an access mode"
	}
	return fmt.Sprint(all)
}
