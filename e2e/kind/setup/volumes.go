package setup

import (
	"context"
	"fmt"
	"os"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sliceshift/sliceshift/e2e/kind"
)

// Provide creates a volume for each unbound claim whose StorageClass has no provisioner, as the default class of the built
// node image, and deletes the volume after its claim. It returns when ctx ends.
func Provide(ctx context.Context, c client.Client) {
	const interval = 50 * time.Millisecond
	wait.UntilWithContext(ctx, func(ctx context.Context) {
		for _, step := range []func(context.Context, client.Client) error{createVolumes, deleteVolumes} {
			if err := step(ctx, c); err != nil && ctx.Err() == nil {
				fmt.Fprintln(os.Stderr, err)
			}
		}
	}, interval)
}

func createVolumes(ctx context.Context, c client.Client) error {
	var claims corev1.PersistentVolumeClaimList
	if err := c.List(ctx, &claims); err != nil {
		return err
	}
	for i := range claims.Items {
		claim := &claims.Items[i]
		if claim.Status.Phase != corev1.ClaimPending || claim.Spec.VolumeName != "" || !unprovided(ctx, c, claim) {
			continue
		}
		if err := c.Create(ctx, VolumeFor(claim)); err != nil && !apierrors.IsAlreadyExists(err) {
			return err
		}
	}
	return nil
}

// unprovided reports whether the claim's class has no provisioner.
func unprovided(ctx context.Context, c client.Client, claim *corev1.PersistentVolumeClaim) bool {
	if claim.Spec.StorageClassName == nil {
		return false
	}
	class := &storagev1.StorageClass{}
	err := c.Get(ctx, client.ObjectKey{Name: *claim.Spec.StorageClassName}, class)
	return err == nil && class.Provisioner == "kubernetes.io/no-provisioner"
}

// VolumeFor returns a volume for a claim, in the folder that the nodes share.
func VolumeFor(claim *corev1.PersistentVolumeClaim) *corev1.PersistentVolume {
	return &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: volumeName(claim.UID)},
		Spec: corev1.PersistentVolumeSpec{
			Capacity: claim.Spec.Resources.Requests, AccessModes: claim.Spec.AccessModes, StorageClassName: *claim.Spec.StorageClassName,
			PersistentVolumeReclaimPolicy: corev1.PersistentVolumeReclaimRetain,
			ClaimRef:                      &corev1.ObjectReference{Namespace: claim.Namespace, Name: claim.Name, UID: claim.UID},
			PersistentVolumeSource: corev1.PersistentVolumeSource{HostPath: &corev1.HostPathVolumeSource{
				Path: kind.Shared + "/" + string(claim.UID), Type: new(corev1.HostPathDirectoryOrCreate),
			}},
		},
	}
}

func volumeName(claim types.UID) string { return "pvc-" + string(claim) }

// deleteVolumes deletes the volumes of Provide whose claims no longer exist. Their folders stay, as long as the clusters.
func deleteVolumes(ctx context.Context, c client.Client) error {
	var volumes corev1.PersistentVolumeList
	if err := c.List(ctx, &volumes); err != nil {
		return err
	}
	for i := range volumes.Items {
		volume := &volumes.Items[i]
		claim := volume.Spec.ClaimRef
		if volume.Status.Phase != corev1.VolumeReleased || claim == nil || volume.Name != volumeName(claim.UID) || volume.Spec.HostPath == nil {
			continue
		}
		if err := c.Delete(ctx, volume); err != nil && !apierrors.IsNotFound(err) {
			return err
		}
	}
	return nil
}
