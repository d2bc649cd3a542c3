package main

import (
	"github.com/spf13/cobra"

	"github.com/sliceshift/sliceshift/cmd/migrate/command"
	"github.com/sliceshift/sliceshift/cmd/migrate/explain"
	"github.com/sliceshift/sliceshift/cmd/migrate/install"
	"github.com/sliceshift/sliceshift/cmd/migrate/move"
	"github.com/sliceshift/sliceshift/cmd/migrate/slice"
)

const rootHelp = `Moves a running StatefulSet to another Kubernetes cluster or namespace, one
ordinal at a time, while the application keeps running.

Each replica is stopped at the source, its volumes are carried over, and it is
started at the destination, never more of them at once than the disruption budget
allows. A move can be interrupted and continued, paused, and rolled back.

Exit codes: 0 done, 1 error, 2 usage, 3 stalled or refused, 4 timeout.`

const rootExamples = `  # What would be done, and what stands in the way
  migrate plan web -n shop --context east --to-context west

  # Do it from here; nothing needs to be installed in either cluster
  migrate run web -n shop --context east --to-context west

  # Watch, pause, go on, take everything back: from another terminal
  migrate status web -n shop --context east -w
  migrate pause web -n shop --context east
  migrate resume web -n shop --context east
  migrate rollback web -n shop --context east --wait

  # The destination is lost for good: what is known of each disk, and the way back
  migrate recover web -n shop --context east --dry-run`

// groups are the commands of the program.
var groups = []command.Group{move.Commands, explain.Commands, slice.Commands, install.Commands, ownCommands}

// newRoot returns the root command without subcommands.
func newRoot() *cobra.Command {
	return &cobra.Command{
		Use:     "migrate",
		Short:   "Move a running StatefulSet to another cluster or namespace",
		Long:    rootHelp,
		Example: rootExamples,
	}
}
