package slice

import (
	"github.com/spf13/cobra"

	"github.com/sliceshift/sliceshift/cmd/migrate/command"
)

func newSet(c *command.Common) *cobra.Command {
	cmd := c.ParentCommand(&cobra.Command{
		Use:   "set",
		Short: "Change the images of a StatefulSet of apps.sliceshift.io",
		Long: `Changes the template of a StatefulSet of apps.sliceshift.io, as "kubectl set" does for
built-in kinds.`,
		Example: `  # A new image for one container
  migrate set image web app=registry.example.com/web:2 -n shop`,

		SuggestionsMinimumDistance: 2,
	})
	cmd.AddCommand(newSetImage(c))
	return cmd
}
