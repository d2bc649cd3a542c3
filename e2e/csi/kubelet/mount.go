package kubelet

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	spec "github.com/container-storage-interface/spec/lib/go/csi"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sliceshift/sliceshift/e2e/fixture"
)

// mounted is a volume that is staged on the node, or will be.
type mounted struct {
	mu     sync.Mutex
	volume *corev1.PersistentVolume
	pods   map[types.UID]bool // the pods that want it; true if mounted
	since  time.Time          // when it was last mounted for a pod
}

// at returns the state of a volume on the node, locked.
func (k *Kubelet) at(volume *corev1.PersistentVolume) *mounted {
	k.mu.Lock()
	at := k.mounts[volume.Name]
	if at == nil {
		at = &mounted{pods: map[types.UID]bool{}}
		k.mounts[volume.Name] = at
	}
	k.mu.Unlock()
	at.mu.Lock()
	at.volume = volume
	return at
}

// mountAll mounts the pod's volumes of the driver.
func (k *Kubelet) mountAll(ctx context.Context, pod *corev1.Pod) error {
	for _, claim := range claims(pod) {
		volume, err := fixture.BoundVolume(ctx, k.client, pod.Namespace, claim)
		if err != nil {
			return err
		}
		if !k.Serves(volume) {
			continue
		}
		if _, err := k.Mount(ctx, pod, volume); err != nil {
			return fmt.Errorf("claim %s: %w", claim, err)
		}
	}
	return nil
}

// Serves reports whether a volume belongs to the driver.
func (k *Kubelet) Serves(volume *corev1.PersistentVolume) bool {
	return volume.Spec.CSI != nil && volume.Spec.CSI.Driver == k.options.Driver
}

// Staging returns the path at which a volume is mounted on the node, for all pods.
func (k *Kubelet) Staging(volume string) string {
	return filepath.Join(k.options.Dir, "volumes", volume, "globalmount")
}

// Path returns the path at which a volume is mounted for a pod: its folder, or its device.
func (k *Kubelet) Path(pod types.UID, volume string) string {
	return filepath.Join(k.options.Dir, "pods", string(pod), volume)
}

// Mount attaches, stages and publishes a volume for a pod, as far as that was not done before, and returns its path.
// After an error the caller should try again.
func (k *Kubelet) Mount(ctx context.Context, pod *corev1.Pod, volume *corev1.PersistentVolume) (string, error) {
	at := k.at(volume)
	defer at.mu.Unlock()
	target, staging := k.Path(pod.UID, volume.Name), k.Staging(volume.Name)
	if at.pods[pod.UID] {
		return target, nil
	}
	at.pods[pod.UID] = false
	if err := k.inUse(ctx, volume, true); err != nil {
		return "", err
	}
	from, err := k.attachment(ctx, volume)
	if err != nil {
		return "", err
	}
	if err := errors.Join(os.MkdirAll(staging, 0o750), os.MkdirAll(filepath.Dir(target), 0o750)); err != nil {
		return "", err
	}
	source, how := volume.Spec.CSI, capability(volume)
	_, err = k.driver.NodeStageVolume(ctx, &spec.NodeStageVolumeRequest{
		VolumeId: source.VolumeHandle, StagingTargetPath: staging, VolumeCapability: how, VolumeContext: source.VolumeAttributes, PublishContext: from,
	})
	if err == nil {
		_, err = k.driver.NodePublishVolume(ctx, &spec.NodePublishVolumeRequest{
			VolumeId: source.VolumeHandle, StagingTargetPath: staging, TargetPath: target, VolumeCapability: how,
			VolumeContext: source.VolumeAttributes, PublishContext: from, Readonly: source.ReadOnly,
		})
	}
	if at.pods[pod.UID] = err == nil; err == nil {
		at.since = time.Now()
	}
	return target, err
}

// attachment returns the attachment's metadata of a volume, once it is attached.
func (k *Kubelet) attachment(ctx context.Context, volume *corev1.PersistentVolume) (map[string]string, error) {
	if !k.options.Attach {
		return nil, nil
	}
	all, err := k.client.StorageV1().VolumeAttachments().List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	for i := range all.Items {
		a := &all.Items[i]
		of := a.Spec.Source.PersistentVolumeName
		if of == nil || *of != volume.Name || a.Spec.NodeName != k.options.Node || a.Spec.Attacher != k.options.Driver {
			continue
		}
		if a.DeletionTimestamp == nil && a.Status.Attached {
			return a.Status.AttachmentMetadata, nil
		}
		if failed := a.Status.AttachError; failed != nil {
			return nil, fmt.Errorf("volume %s is not attached: %s", volume.Name, failed.Message)
		}
	}
	return nil, fmt.Errorf("volume %s is not attached", volume.Name)
}

// capability returns how a volume is used.
func capability(volume *corev1.PersistentVolume) *spec.VolumeCapability {
	mode := spec.VolumeCapability_AccessMode_SINGLE_NODE_MULTI_WRITER
	if slices.Contains(volume.Spec.AccessModes, corev1.ReadWriteOncePod) {
		mode = spec.VolumeCapability_AccessMode_SINGLE_NODE_SINGLE_WRITER
	}
	how := &spec.VolumeCapability{AccessMode: &spec.VolumeCapability_AccessMode{Mode: mode}}
	if block := volume.Spec.VolumeMode; block != nil && *block == corev1.PersistentVolumeBlock {
		how.AccessType = &spec.VolumeCapability_Block{Block: &spec.VolumeCapability_BlockVolume{}}
		return how
	}
	how.AccessType = &spec.VolumeCapability_Mount{Mount: &spec.VolumeCapability_MountVolume{
		FsType: volume.Spec.CSI.FSType, MountFlags: volume.Spec.MountOptions,
	}}
	return how
}

// Unmount unpublishes the volumes of a pod, and unstages those that no other pod uses.
func (k *Kubelet) Unmount(ctx context.Context, pod *corev1.Pod) error {
	k.mu.Lock()
	all := slices.Collect(maps.Values(k.mounts))
	k.mu.Unlock()
	var errs []error
	for _, each := range all {
		errs = append(errs, k.unmount(ctx, pod, each))
	}
	return errors.Join(errs...)
}

func (k *Kubelet) unmount(ctx context.Context, pod *corev1.Pod, at *mounted) error {
	at.mu.Lock()
	defer at.mu.Unlock()
	if _, is := at.pods[pod.UID]; !is {
		return nil
	}
	handle, staging := at.volume.Spec.CSI.VolumeHandle, k.Staging(at.volume.Name)
	_, err := k.driver.NodeUnpublishVolume(ctx, &spec.NodeUnpublishVolumeRequest{VolumeId: handle, TargetPath: k.Path(pod.UID, at.volume.Name)})
	if err != nil {
		return err
	}
	if len(at.pods) == 1 {
		_, err := k.driver.NodeUnstageVolume(ctx, &spec.NodeUnstageVolumeRequest{VolumeId: handle, StagingTargetPath: staging})
		if err != nil {
			return err
		}
		if err := os.Remove(staging); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if err := k.inUse(ctx, at.volume, false); err != nil {
			return err
		}
	}
	delete(at.pods, pod.UID)
	return nil
}
