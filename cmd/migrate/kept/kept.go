// Package kept lists the volumes that ordinals have left behind, and the commands that remove them.
package kept

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/cmd/migrate/command"
	"github.com/sliceshift/sliceshift/cmd/migrate/terminal"
	"github.com/sliceshift/sliceshift/internal/records"
	"github.com/sliceshift/sliceshift/internal/shell"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/migration/view"
	"github.com/sliceshift/sliceshift/volumes"
)

// Volume is a volume that an ordinal has left behind.
type Volume struct {
	Name string `json:"name"`
	// Claim is the claim of the ordinal, as namespace/name.
	Claim string `json:"claim"`
	// Migration is the migration that parked the volume: namespace/name, or its UID if it is not known in this cluster.
	Migration string `json:"migration,omitempty"`
	// Disk identifies the disk in the storage: the driver and its handle, or another volume source as JSON.
	Disk string `json:"disk"`
	// Remove is the command that deletes the object but never the disk. No object of this cluster shows reliably whether
	// an ordinal runs on that disk, in another cluster or by a later migration. It is empty while the migration runs.
	Remove string `json:"remove,omitempty"`

	by types.UID
}

// All returns the volumes in a cluster, sorted by claim. It finds their migrations in the Migrations and the records of
// runs, as far as these may be read. Commands begin with kubectl, which names the cluster; see plan.Kubectl.
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

// Of returns the volumes of one migration.
func Of(ctx context.Context, c client.Reader, kubectl shell.Kubectl, m *api.Migration) ([]Volume, error) {
	all, err := All(ctx, c, kubectl)
	return slices.DeleteFunc(all, func(v Volume) bool { return v.by != m.UID }), err
}

// Name sets in the snapshot which migrations have parked the volumes at the destination. c reads the destination. A
// migration that cannot be read, or no longer exists, remains named by its UID.
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

// migrations returns the migrations of a cluster by UID. It skips objects that may not be read.
func migrations(ctx context.Context, c client.Reader) (map[types.UID]*api.Migration, error) {
	all, err := records.List(true, func(list client.ObjectList, options ...client.ListOption) error {
		if err := c.List(ctx, list, options...); !meta.IsNoMatchError(err) && !apierrors.IsNotFound(err) && !apierrors.IsForbidden(err) {
			return err
		}
		return nil
	})
	known := map[types.UID]*api.Migration{}
	for _, m := range all {
		known[m.UID] = m.Migration
	}
	return known, err
}

// volumeOf returns the Volume of a kept volume. m is its migration, or nil if unknown. The command names its cluster,
// because a volume of the same name in the other cluster may be in use.
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

// Lines returns one line for each volume kept in a cluster, with the command that removes it. It returns nil without
// volumes.
func Lines(cluster string, all []Volume) []string {
	if len(all) == 0 {
		return nil
	}
	lines := []string{fmt.Sprintf("%s in cluster %s: ordinals have left them, and no migration deletes them", view.Count(len(all), "volume"), cluster)}
	for _, v := range all {
		lines = append(lines, v.line())
	}
	return lines
}

func (v Volume) line() string {
	text := fmt.Sprintf("%s of claim %s", v.Name, v.Claim)
	if v.Remove == "" {
		return text + ": migration " + v.Migration + " is in progress, and may need it"
	}
	return fmt.Sprintf("%s; to remove the object: %s; disk %s stays: delete that in the storage once no volume of any cluster uses it", text, v.Remove, v.Disk)
}

// options are the options of the command kept.
type options struct {
	*command.Common
	output *command.Choice
}

const help = `Lists the volumes of a cluster that ordinals have left behind, of all migrations: parked, with
the policy Retain, and named by no claim. No migration deletes a disk, so they stay until
you remove them. Run it once for each cluster: a rollback by a copy leaves some on both
sides, the volume from before the move and the copy that the ordinal has left since.

The printed command removes the object and leaves the disk, whose handle in the storage
is DISK. Delete that there once no PersistentVolume of any cluster uses it: an ordinal that was
moved by Rebind runs on the disk that it has left here. The command names its context: in the
other cluster a volume of the same name may be in use.`

const examples = `  # The volumes left in the two clusters
  migrate kept --context east
  migrate kept --context west

  # The commands alone
  migrate kept --context west -o json | jq -r '.[].remove'`

// New returns the command kept.
func New(c *command.Common) *cobra.Command {
	o := &options{Common: c}
	cmd := c.Command(o, &cobra.Command{Use: "kept", Short: "List the volumes that ordinals have left behind", Long: help, Example: examples})
	o.output = command.AddOutput(cmd, "table", "json", "yaml")
	return cmd
}

// Run lists the volumes.
func (o *options) Run(ctx context.Context) error {
	connection, err := o.Connect()
	if err != nil {
		return err
	}
	all, err := All(ctx, connection.Live(), plan.Kubectl(connection.Name(), connection.Flags()))
	if err != nil {
		return command.Unreachable(connection.Name(), err)
	}
	return terminal.Print(o.Out, o.output.Value, all, func(all []Volume) error {
		if len(all) == 0 {
			fmt.Fprintf(o.Out, "cluster %s: no volume was left behind\n", connection.Name())
			return nil
		}
		t := terminal.Table{Head: []string{"VOLUME", "CLAIM", "MIGRATION", "DISK", "TO REMOVE IT"}}
		for _, v := range all {
			remove := v.Remove
			if remove == "" {
				remove = "not before its migration is completed"
			}
			t.Add(nil, v.Name, v.Claim, v.Migration, string(v.Disk), remove)
		}
		return t.Write(o.Out, o.Paint())
	})
}
