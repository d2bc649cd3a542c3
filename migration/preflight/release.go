package preflight

import (
	"context"
	"fmt"
	"maps"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/volumes"
)

// release warns of volumes whose release cannot be observed. A VolumeAttachment is deleted only after the kubelet has
// unmounted the disk. If a driver has none, the pod's object is the last evidence. The kubelet removes it when the
// pod's own mounts are gone, before it unmounts the disk from the node (kubernetes
// pkg/kubelet/volumemanager/reconciler, unmountVolumes, then unmountDetachDevices). Cached data may be written back
// after that.
//
// No warning is needed for volumes without a disk of their own on the node. These are network file systems, which
// serve several nodes at once, so any volume that offers ReadWriteMany as a file system; hostPath, which is not
// mounted; and local, which stays on its node, whose kubelet counts the users of the mount.
func (e *Inspector) release(ctx context.Context, m *api.Migration, source *appsv1.StatefulSet) ([]plan.Finding, error) {
	if len(source.Spec.VolumeClaimTemplates) == 0 {
		return nil, nil
	}
	pvs, err := e.claimed(ctx, m, source)
	if err != nil {
		return nil, err
	}
	unseen, asked := map[string][]string{}, map[string]string{}
	for i := range pvs {
		driver, err := e.unseenDriver(ctx, &pvs[i], asked)
		if err != nil {
			return nil, err
		}
		if driver != "" {
			unseen[driver] = append(unseen[driver], pvs[i].Name)
		}
	}
	var findings []plan.Finding
	for _, driver := range slices.Sorted(maps.Keys(unseen)) {
		slices.Sort(unseen[driver])
		findings = append(findings, plan.Finding{
			Reason: volumes.ReasonReleaseUnseen, Object: driver, Warning: true,
			Message: fmt.Sprintf("volumes of %s in cluster %s have no VolumeAttachment (%s): after the deletion of their pod, the node may still hold the disk for a moment, and no API shows when it is released", driver, e.Source.Cluster, plan.Listed(unseen[driver])),
			Remedy:  "make sure that the storage allows only one node to write at a time (SCSI reservations, an exclusive lock), or use a driver that attaches (CSIDriver spec.attachRequired: true)",
		})
	}
	return findings, nil
}

// unseenDriver returns the driver that mounts a volume if its release cannot be observed; empty if a VolumeAttachment
// shows it, or none is needed. asked holds the answers about drivers so far.
func (e *Inspector) unseenDriver(ctx context.Context, pv *corev1.PersistentVolume, asked map[string]string) (string, error) {
	from := pv.Spec.PersistentVolumeSource
	switch {
	case serves(pv):
		return "", nil
	case from.CSI != nil:
		return e.unattached(ctx, from.CSI.Driver, asked)
	case from.ISCSI != nil:
		return "the in-tree plugin iscsi", nil
	case from.FC != nil:
		return "the in-tree plugin fc", nil
	case from.FlexVolume != nil:
		return "FlexVolume driver " + from.FlexVolume.Driver, nil
	case from.RBD != nil:
		return "the in-tree plugin rbd", nil
	default:
		return "", nil // local, a network file system, or migrated to a CSI driver that attaches
	}
}

// serves reports whether a volume is a file system for several nodes at once.
func serves(pv *corev1.PersistentVolume) bool {
	block := pv.Spec.VolumeMode != nil && *pv.Spec.VolumeMode == corev1.PersistentVolumeBlock
	return !block && slices.Contains(pv.Spec.AccessModes, corev1.ReadWriteMany)
}

// unattached returns the name of a CSI driver that has no VolumeAttachments. A driver without a CSIDriver object has
// them (kubernetes pkg/volume/csi, skipAttach).
func (e *Inspector) unattached(ctx context.Context, name string, asked map[string]string) (string, error) {
	if answer, known := asked[name]; known {
		return answer, nil
	}
	driver, answer := &storagev1.CSIDriver{}, ""
	err := e.Source.Live.Get(ctx, client.ObjectKey{Name: name}, driver)
	switch {
	case apierrors.IsNotFound(err):
	case apierrors.IsForbidden(err):
		answer = "CSI driver " + name + ", if its CSIDriver says attachRequired: false, which may not be read,"
	case err != nil:
		return "", err
	case driver.Spec.AttachRequired != nil && !*driver.Spec.AttachRequired:
		answer = "CSI driver " + name
	}
	asked[name] = answer
	return answer, nil
}
