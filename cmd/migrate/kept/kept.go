// Package kept names the volumes that ordinals have left behind, and how they are removed.
package kept

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sliceshift/sliceshift/cmd/migrate/terminal"
	"github.com/sliceshift/sliceshift/internal/records"
	"github.com/sliceshift/sliceshift/internal/shell"
	"github.com/sliceshift/sliceshift/migration/plan"
	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/volumes"
)

// Volume is one that an ordinal has left behind.
type Volume struct {
	Name string `json:"name"`
	// Claim is what the ordinal had it by, as namespace/name.
	Claim string `json:"claim"`
	// Migration has parked it: namespace/name, or its UID where it is not known in this cluster.
	Migration string `json:"migration,omitempty"`
	// Disk is what the storage knows the disk by: the driver and its handle, or the source of another kind as JSON.
	Disk string `json:"disk"`
	// Remove is the command that removes the object, and never the disk: whether an ordinal runs on that, in another cluster or
	// by another migration since, no object of this cluster says for sure. Empty while its migration goes on.
	Remove string `json:"remove,omitempty"`

	by types.UID
}

// All are those in a cluster, by their claims. Of which migrations they are its Migrations and the records of runs say, as
// far as they may be read. The commands begin with kubectl, which names the cluster: plan.Kubectl.
func All(ctx context.Context, c client.Reader, kubectl shell.Kubectl) ([]Volume, error) {
	var list corev1.PersistentVolumeList
	if err := c.List(ctx, &list); err != nil {
		return nil, err
	}
	known, err := migrations(ctx, c)
	if err != nil {
		return nil, err
	}
	all := []Volume{}
	for i := range list.Items {
		if kept, parked := volumes.KeptOf(&list.Items[i]); parked {
			all = append(all, volumeOf(kept, known[kept.By], kubectl))
		}
	}
	slices.SortFunc(all, func(a, b Volume) int { return cmp.Or(cmp.Compare(a.Claim, b.Claim), cmp.Compare(a.Name, b.Name)) })
	return all, nil
}

// Of are those of one migration.
func Of(ctx context.Context, c client.Reader, kubectl shell.Kubectl, m *api.Migration) ([]Volume, error) {
	all, err := All(ctx, c, kubectl)
	return slices.DeleteFunc(all, func(v Volume) bool { return v.by != m.UID }), err
}

// Name has a snapshot say which migrations have parked what is in the way at the destination, whose reader c is. What may not be
// read, or is gone, stays named by its UID.
func Name(ctx context.Context, c client.Reader, s *plan.Snapshot) {
	var known map[types.UID]*api.Migration
	for i := range s.Volumes {
		at := &s.Volumes[i].Destination
		if !at.Parked() || at.Volume.Note.By == s.UID {
			continue
		}
		if known == nil {
			var err error
			if known, err = migrations(ctx, c); err != nil {
				return
			}
		}
		if m := known[at.Volume.Note.By]; m != nil {
			at.Volume.ParkedBy = m.Namespace + "/" + m.Name
		}
	}
}

// migrations are those of a cluster, by their UIDs. What may not be read is left out.
func migrations(ctx context.Context, c client.Reader) (map[types.UID]*api.Migration, error) {
	known := map[types.UID]*api.Migration{}
	var resources api.MigrationList
	if err := c.List(ctx, &resources); err != nil && !meta.IsNoMatchError(err) && !apierrors.IsNotFound(err) && !apierrors.IsForbidden(err) {
		return nil, err
	}
	for i := range resources.Items {
		known[resources.Items[i].UID] = &resources.Items[i]
	}
	var maps corev1.ConfigMapList
	if err := c.List(ctx, &maps, client.HasLabels{records.LabelKey}); err != nil && !apierrors.IsForbidden(err) {
		return nil, err
	}
	for i := range maps.Items {
		if m, err := records.Decode(&maps.Items[i]); err == nil {
			known[m.UID] = m
		}
	}
	return known, nil
}

// volumeOf is a volume of a migration; nil: that is not known. In the other cluster a volume of the same name may be the
// one that is in use: the command names its cluster.
func volumeOf(kept volumes.Kept, m *api.Migration, kubectl shell.Kubectl) Volume {
	v := Volume{Name: kept.Volume, Claim: kept.Claim.Namespace + "/" + kept.Claim.Name, Migration: string(kept.By), Disk: kept.Handle, by: kept.By}
	if m != nil {
		v.Migration = m.Namespace + "/" + m.Name
	}
	switch {
	case m != nil && records.Completed(m) == "":
	case kept.Policy == corev1.PersistentVolumeReclaimRetain:
		v.Remove = kubectl.Do("delete", "pv", v.Name)
	default:
		v.Remove = kubectl.Do("patch", "pv", v.Name, "-p", `{"spec":{"persistentVolumeReclaimPolicy":"Retain"}}`) + " && " + kubectl.Do("delete", "pv", v.Name)
	}
	return v
}

// Lines say what is kept in a cluster, one for each, with how it is removed; nothing where nothing is.
func Lines(cluster string, all []Volume) []string {
	if len(all) == 0 {
		return nil
	}
	lines := []string{fmt.Sprintf("%s in cluster %s: ordinals have left them, and no migration deletes them", terminal.Count(len(all), "volume"), cluster)}
	for _, v := range all {
		lines = append(lines, v.line())
	}
	return lines
}

func (v Volume) line() string {
	text := fmt.Sprintf("%s of claim %s", v.Name, v.Claim)
	if v.Remove == "" {
		return text + ": migration " + v.Migration + " goes on, and may need it"
	}
	return fmt.Sprintf("%s; the object goes by %s, and disk %s stays: delete that in the storage once no volume of any cluster has it", text, v.Remove, v.Disk)
}
