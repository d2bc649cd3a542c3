package world

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/internal/clusters"
	"github.com/sliceshift/sliceshift/internal/disk"
	"github.com/sliceshift/sliceshift/volumes"
)

// readDuplicates looks on this side for other volumes with the disks of the other side's volumes that do not exist
// here yet.
func (f *observed) readDuplicates(ctx context.Context, policy volumes.Policy, other map[string]*corev1.PersistentVolume) error {
	if f.endpoint.Cached == nil {
		return nil // without a view this is only a plan; the preflight has listed them
	}
	f.duplicateHandles = map[string]string{}
	for name, volume := range other {
		called := f.nameOf(volume)
		if here := f.volumes[called]; here != nil && (here.Annotations[api.OwnerAnnotationKey] != "" || here.Annotations[api.OriginalReclaimPolicyAnnotationKey] != "") {
			continue // a migration has created or moved it
		}
		for _, key := range disk.Sought(volume) {
			var same corev1.PersistentVolumeList
			if err := f.endpoint.Cached.List(ctx, &same, client.MatchingFields{clusters.DiskField: key}); err != nil {
				return err
			}
			if twin := policy.Twin(volumes.CalledThere(volume, called), same.Items); twin != "" {
				f.duplicateHandles[name] = twin
			}
		}
	}
	return nil
}

// judge records why a volume of this side may not be created at the other side.
func (e *Observer) judge(m *api.Migration, template string, h *volumes.Holding, at, other *observed) {
	volume := at.volumes[h.Volume.Name]
	if volume == nil || e.SameCluster() {
		return
	}
	h.Volume.Twin = other.duplicateHandles[volume.Name]
	if MethodOf(m, template) == api.MethodSnapshot {
		driver, _ := volumes.DriverOf(h.Volume.Handle)
		h.Volume.Barred = e.Policy.BarsSnapshot(driver)
		return
	}
	if other.volumes[other.nameOf(volume)] != nil {
		return
	}
	h.Volume.Barred = e.Policy.Bars(volume, UseOf(m, other.endpoint.Namespace, template))
}

// UseOf describes the use of a volume of a claim template in a namespace.
func UseOf(m *api.Migration, namespace, template string) volumes.Use {
	return volumes.Use{Namespace: namespace, ClaimTemplate: template, Shared: askedOf(m, template).Shared}
}
