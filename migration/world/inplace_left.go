package world

import (
	"context"

	corev1 "k8s.io/api/core/v1"

	"github.com/sliceshift/sliceshift/internal/disk"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/migration/planner"
	"github.com/sliceshift/sliceshift/volumes"
)

// left adds the volumes that ordinals have left, once they are cleaned. No claim names them, so they are found among all
// volumes, and so are other volumes of their disks.
func (r *replaced) left(ctx context.Context, s plan.Snapshot) error {
	if !planner.Cleans(s) {
		return nil
	}
	var all corev1.PersistentVolumeList
	if err := r.Source.Live.List(ctx, &all); err != nil {
		return err
	}
	if err := r.source.listAttachments(ctx, r.Source.Live); err != nil {
		return err
	}
	for i := range all.Items {
		volume := &all.Items[i]
		kept, parked := volumes.KeptOf(volume)
		if !parked || kept.By != r.m.UID || volume.DeletionTimestamp != nil || kept.Claim.Namespace != r.Source.Namespace || !isClaimOf(r.Source.Set, kept.Claim.Name) {
			continue
		}
		left := plan.Left{Claim: kept.Claim, Volume: r.source.viewVolume(volume, r.m.UID)}
		left.Volume.Attachments = r.source.attached[volume.Name]
		for j := range all.Items {
			if j != i && disk.Relate(volume, &all.Items[j]) != disk.Apart {
				left.Twin = all.Items[j].Name
			}
		}
		r.storage.Left = append(r.storage.Left, left)
	}
	return nil
}
