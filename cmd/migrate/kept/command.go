package kept

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/sliceshift/sliceshift/cmd/migrate/command"
	"github.com/sliceshift/sliceshift/cmd/migrate/terminal"
	"github.com/sliceshift/sliceshift/migration/plan"
)

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
