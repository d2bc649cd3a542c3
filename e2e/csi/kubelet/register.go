package kubelet

import (
	"context"
	"encoding/json"
	"slices"

	spec "github.com/container-storage-interface/spec/lib/go/csi"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/retry"
)

// managed is the annotation of nodes whose volumes the cluster's controller attaches. Kubelets set it.
const managed = "volumes.kubernetes.io/controller-managed-attach-detach"

// register reports to the cluster that the driver runs on the node.
func (k *Kubelet) register(ctx context.Context) error {
	info, err := k.driver.NodeGetInfo(ctx, &spec.NodeGetInfoRequest{})
	if err != nil {
		return err
	}
	entry := storagev1.CSINodeDriver{Name: k.options.Driver, NodeID: info.GetNodeId()}
	if most := info.GetMaxVolumesPerNode(); most > 0 {
		entry.Allocatable = &storagev1.VolumeNodeResources{Count: new(int32(most))}
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": map[string]string{managed: "true"}}})
	if err != nil {
		return err
	}
	node, err := k.client.CoreV1().Nodes().Patch(ctx, k.options.Node, types.MergePatchType, patch, metav1.PatchOptions{})
	if err != nil {
		return err
	}
	nodes := k.client.StorageV1().CSINodes()
	_, err = nodes.Create(ctx, &storagev1.CSINode{ObjectMeta: metav1.ObjectMeta{Name: node.Name, OwnerReferences: []metav1.OwnerReference{
		{APIVersion: "v1", Kind: "Node", Name: node.Name, UID: node.UID},
	}}}, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return err
	}
	return retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		at, err := nodes.Get(ctx, node.Name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		at.Spec.Drivers = append(slices.DeleteFunc(at.Spec.Drivers, func(d storagev1.CSINodeDriver) bool { return d.Name == entry.Name }), entry)
		_, err = nodes.Update(ctx, at, metav1.UpdateOptions{})
		return err
	})
}

// inUse records in the status of the node whether a volume is in use: a volume in use is not detached.
func (k *Kubelet) inUse(ctx context.Context, volume *corev1.PersistentVolume, is bool) error {
	name := corev1.UniqueVolumeName("kubernetes.io/csi/" + volume.Spec.CSI.Driver + "^" + volume.Spec.CSI.VolumeHandle)
	return retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		node, err := k.client.CoreV1().Nodes().Get(ctx, k.options.Node, metav1.GetOptions{})
		if err != nil || slices.Contains(node.Status.VolumesInUse, name) == is {
			return err
		}
		node.Status.VolumesInUse = slices.DeleteFunc(node.Status.VolumesInUse, func(n corev1.UniqueVolumeName) bool { return n == name })
		if is {
			node.Status.VolumesInUse = append(node.Status.VolumesInUse, name)
		}
		_, err = k.client.CoreV1().Nodes().UpdateStatus(ctx, node, metav1.UpdateOptions{})
		return err
	})
}
