package main

import (
	"github.com/spf13/cobra"

	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
)

const rollbackHelp = `Takes every ordinal back to the source, one at a time and under the same budget, and
removes what the migration had made at the destination. It can be done at any moment
until the migration is completed.`

func newRollback(c *common) *cobra.Command {
	o := &modeOptions{common: c, mode: api.ModeRollback, done: "is being rolled back"}
	cmd := o.command("rollback NAME", "Take every ordinal back to the source", rollbackHelp, `  # Turn round
  migrate rollback web -n shop --context east

  # Wait until everything is back; exit 4 after half an hour
  migrate rollback web -n shop --context east --wait --timeout 30m`)
	cmd.Flags().BoolVar(&o.wait, "wait", false, "wait until it is completed")
	cmd.Flags().DurationVar(&o.timeout, "timeout", 0, "how long to wait (default: for ever)")
	return cmd
}
