package storage

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/endpoint"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/volumes"
	"github.com/sliceshift/sliceshift/volumes/snapshot/manifest"
)

// Snapshots finds reasons why volumes cannot be restored at the destination from a snapshot of the source, such as a
// missing or different driver. It warns if nothing shows that a node has written back its cached data, and if no
// snapshot is possible for the rollback. It reads the volumes of the given ordinal. Findings about the claims come
// from their own check.
func Snapshots(ctx context.Context, both *endpoint.Pair, m *api.Migration, source *appsv1.StatefulSet, ordinal int32) ([]plan.Finding, error) {
	s := snapshots{Pair: both}
	for _, asked := range m.VolumesAsAccepted() {
		if asked.Method != api.MethodSnapshot {
			continue
		}
		if err := s.judge(ctx, asked, source, ordinal); err != nil && !apierrors.IsForbidden(err) {
			return nil, err // a missing right is reported by the check of rights
		}
	}
	return s.found, nil
}

// snapshots holds the findings so far.
type snapshots struct {
	*endpoint.Pair
	found []plan.Finding
}

func (s *snapshots) judge(ctx context.Context, asked api.VolumeSpec, source *appsv1.StatefulSet, ordinal int32) error {
	claim, err := endpoint.Get[corev1.PersistentVolumeClaim](ctx, s.Source.Live, s.Source.Key(plan.ClaimName(asked.ClaimTemplate, source.Name, ordinal)))
	if err != nil || claim == nil || claim.Spec.VolumeName == "" {
		return err
	}
	pv, err := endpoint.Get[corev1.PersistentVolume](ctx, s.Source.Live, client.ObjectKey{Name: claim.Spec.VolumeName})
	if err != nil || pv == nil || pv.Spec.CSI == nil {
		return err
	}
	class := claim.Spec.StorageClassName
	if asked.StorageClassName != nil {
		class = asked.StorageClassName
	}
	for _, look := range []func(context.Context, string, string) error{s.driver, s.release, s.wayBack} {
		if err := look(ctx, asked.ClaimTemplate, pv.Spec.CSI.Driver); err != nil {
			return err
		}
	}
	return s.class(ctx, asked.ClaimTemplate, pv.Spec.CSI.Driver, class)
}

// driver finds that the destination lacks the driver.
func (s *snapshots) driver(ctx context.Context, template, driver string) error {
	found, err := endpoint.Get[storagev1.CSIDriver](ctx, s.Destination.Live, client.ObjectKey{Name: driver})
	if found != nil || err != nil {
		return err
	}
	s.found = append(s.found, plan.Finding{
		Reason: volumes.ReasonDriverMissing, Object: "CSIDriver " + driver,
		Message: fmt.Sprintf("the volumes of claim template %s are of CSI driver %s, and cluster %s has no such driver: nothing there restores a snapshot of them", template, driver, s.Destination.Cluster),
		Remedy:  "install the driver there, for the same storage; or name another method in spec.volumes",
	})
	return nil
}

// release warns of a driver without VolumeAttachments, which are deleted when the node has unmounted the volume.
func (s *snapshots) release(ctx context.Context, template, driver string) error {
	found, err := endpoint.Get[storagev1.CSIDriver](ctx, s.Source.Live, client.ObjectKey{Name: driver})
	if err != nil || found == nil || found.Spec.AttachRequired == nil || *found.Spec.AttachRequired {
		return err
	}
	s.found = append(s.found, plan.Finding{
		Reason: volumes.ReasonReleaseUnseen, Object: "CSI driver " + driver, Warning: true,
		Message: fmt.Sprintf("volumes of CSI driver %s in cluster %s have no VolumeAttachment: no API shows when the node has written its cached data to a volume of claim template %s, and an earlier snapshot lacks these data", driver, s.Source.Cluster, template),
		Remedy:  "use it if the driver's mounts write back at once, as network file systems do on close; else use method Copy, which reads the mounted volume, or a driver that attaches (CSIDriver spec.attachRequired: true)",
	})
	return nil
}

// wayBack warns if the destination has no VolumeSnapshotClass for its volumes.
func (s *snapshots) wayBack(ctx context.Context, template, driver string) error {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(manifest.ClassListKind)
	if err := s.Destination.Live.List(ctx, list); meta.IsNoMatchError(err) || apierrors.IsNotFound(err) {
		return nil // reported by the check of the claims
	} else if err != nil {
		return err
	}
	class, lacks := volumes.ChooseClass(manifest.ViewClasses(list), driver, "")
	if class != "" {
		return nil
	}
	s.found = append(s.found, plan.Finding{
		Reason: volumes.ReasonSnapshotClassMissing, Object: "cluster " + s.Destination.Cluster, Warning: true,
		Message: fmt.Sprintf("in cluster %s no snapshot of the volumes of claim template %s can be taken: %s. Ordinals that have moved could not come back", s.Destination.Cluster, template, lacks),
		Remedy:  fmt.Sprintf("create a VolumeSnapshotClass of driver %s there before you need the way back", driver),
	})
	return nil
}

// class finds a storage class of another driver. It would provision an empty volume, or no volume.
func (s *snapshots) class(ctx context.Context, template, driver string, name *string) error {
	var classes storagev1.StorageClassList
	if err := s.Destination.Live.List(ctx, &classes); err != nil {
		return err
	}
	class := volumes.FindClass(name, classes.Items)
	if class == nil || class.Provisioner == driver {
		return nil // a missing class is reported by the check of classes
	}
	s.found = append(s.found, plan.Finding{
		Reason: volumes.ReasonClassMissing, Object: "StorageClass " + class.Name,
		Message: fmt.Sprintf("StorageClass %s in cluster %s is of driver %s, and the snapshots of claim template %s are of %s: it would provision an empty volume, or none, when the ordinal is already down", class.Name, s.Destination.Cluster, class.Provisioner, template, driver),
		Remedy:  fmt.Sprintf("use a class of driver %s there: spec.volumes of the Migration, --storage-class %s=CLASS", driver, template),
	})
	return nil
}
