package kubelet

import (
	"context"
	"slices"
	"time"

	spec "github.com/container-storage-interface/spec/lib/go/csi"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/sliceshift/sliceshift/e2e/fixture"
)

// AtMountKey is the annotation of claims whose file system grows only when a pod mounts it.
const AtMountKey = "e2e.sliceshift.io/grows-at-mount"

// since returns when the backend had grown the volume of a claim.
func since(claim *corev1.PersistentVolumeClaim) time.Time {
	at := slices.IndexFunc(claim.Status.Conditions, func(c corev1.PersistentVolumeClaimCondition) bool {
		return c.Type == corev1.PersistentVolumeClaimFileSystemResizePending
	})
	if at < 0 {
		return time.Time{}
	}
	return claim.Status.Conditions[at].LastTransitionTime.Time
}

// pending reports whether a claim waits for its node: the backend has grown its volume.
func pending(claim *corev1.PersistentVolumeClaim) bool {
	switch claim.Status.AllocatedResourceStatuses[corev1.ResourceStorage] {
	case corev1.PersistentVolumeClaimNodeResizePending, corev1.PersistentVolumeClaimNodeResizeInProgress:
		return true
	default:
		return false
	}
}

// seeClaim grows a claim that waits for it, and retries until it has grown or no longer waits.
func (k *Kubelet) seeClaim(ctx context.Context, o any) {
	claim, is := o.(*corev1.PersistentVolumeClaim)
	if !is || !pending(claim) || ctx.Err() != nil {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.growing[claim.UID] {
		return
	}
	k.growing[claim.UID] = true
	k.running.Go(func() {
		last := ""
		_ = wait.PollUntilContextCancel(ctx, pause, true, func(ctx context.Context) (bool, error) {
			done, err := k.grow(ctx, claim)
			if err != nil && err.Error() != last {
				last = err.Error()
				k.log.Printf("claim %s/%s does not grow: %v", claim.Namespace, claim.Name, err)
			}
			return done, nil
		})
		k.mu.Lock()
		defer k.mu.Unlock()
		delete(k.growing, claim.UID)
	})
}

// grow grows the file system of a claim to the size of its volume, if it is mounted here. It is also done if nothing
// needs to grow any more. If no pod of the node has it mounted, the next mount grows it.
func (k *Kubelet) grow(ctx context.Context, seen *corev1.PersistentVolumeClaim) (done bool, err error) {
	claim, err := k.client.CoreV1().PersistentVolumeClaims(seen.Namespace).Get(ctx, seen.Name, metav1.GetOptions{})
	if err != nil || claim.UID != seen.UID || !pending(claim) {
		return true, err
	}
	volume, err := fixture.BoundVolume(ctx, k.client, claim.Namespace, claim.Name)
	if err != nil || !k.Serves(volume) {
		return err == nil, err
	}
	size := volume.Spec.Capacity[corev1.ResourceStorage]
	at := k.at(volume)
	defer at.mu.Unlock()
	if claim.Annotations[AtMountKey] != "" && !at.since.After(since(claim)) {
		return false, nil
	}
	for pod, has := range at.pods {
		if !has {
			continue
		}
		_, err := k.driver.NodeExpandVolume(ctx, &spec.NodeExpandVolumeRequest{
			VolumeId: volume.Spec.CSI.VolumeHandle, VolumePath: k.Path(pod, volume.Name), StagingTargetPath: k.Staging(volume.Name),
			CapacityRange: &spec.CapacityRange{RequiredBytes: size.Value()}, VolumeCapability: capability(volume),
		})
		if err != nil {
			return false, err
		}
		claim.Status.Capacity[corev1.ResourceStorage] = size
		delete(claim.Status.AllocatedResourceStatuses, corev1.ResourceStorage)
		claim.Status.Conditions = slices.DeleteFunc(claim.Status.Conditions, func(c corev1.PersistentVolumeClaimCondition) bool {
			return c.Type == corev1.PersistentVolumeClaimResizing || c.Type == corev1.PersistentVolumeClaimFileSystemResizePending
		})
		_, err = k.client.CoreV1().PersistentVolumeClaims(claim.Namespace).UpdateStatus(ctx, claim, metav1.UpdateOptions{})
		return err == nil, err
	}
	return false, nil
}
