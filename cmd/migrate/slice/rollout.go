package slice

import (
	"github.com/spf13/cobra"

	"github.com/sliceshift/sliceshift/cmd/migrate/command"
)

const rolloutHelp = `Manages the roll-outs of a StatefulSet of apps.sliceshift.io, with the commands
of "kubectl rollout". Use kubectl for one of apps/v1; "migrate adopt" converts one kind to
the other.`

const rolloutExamples = `  # Wait for the end of a roll-out, and see why a pod is left alone
  migrate rollout status web -n shop

  # Which revisions there are, and back to the one before
  migrate rollout history web -n shop
  migrate rollout undo web -n shop

  # Stop a roll-out where it is, go on, restart every pod
  migrate rollout pause web -n shop
  migrate rollout resume web -n shop
  migrate rollout restart web -n shop`

func newRollout(c *command.Common) *cobra.Command {
	cmd := c.ParentCommand(&cobra.Command{
		Use:     "rollout",
		Short:   "Manage the roll-outs of a StatefulSet of apps.sliceshift.io",
		Long:    rolloutHelp,
		Example: rolloutExamples,

		SuggestionsMinimumDistance: 2,
	})
	cmd.AddCommand(
		newRolloutStatus(c), newRolloutHistory(c), newRolloutUndo(c),
		newRolloutPause(c), newRolloutResume(c), newRolloutRestart(c),
	)
	return cmd
}
