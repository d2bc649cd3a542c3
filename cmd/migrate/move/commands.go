// Package move provides the commands that move a StatefulSet, by this process or by a manager, and those that steer a
// move.
package move

import (
	"slices"

	"github.com/spf13/cobra"

	"github.com/sliceshift/sliceshift/cmd/migrate/command"
	"github.com/sliceshift/sliceshift/cmd/migrate/evacuate"
	"github.com/sliceshift/sliceshift/cmd/migrate/kept"
	"github.com/sliceshift/sliceshift/cmd/migrate/move/recipe"
	"github.com/sliceshift/sliceshift/cmd/migrate/move/ui"
)

// Commands returns the commands that move a StatefulSet and steer its move.
func Commands(c *command.Common) []*cobra.Command {
	return slices.Concat(
		command.In(command.Moving, newPreflight(c), newPlan(c), newRehearse(c), newRun(c), newCreate(c), evacuate.New(c), newPause(c), newResume(c), newRollback(c), newRecover(c), newBudget(c), newGates(c), newHooks(c)),
		command.In(command.Looking, newStatus(c), newReport(c), ui.New(c), recipe.New(c)),
		command.In(command.Storage, newStorage(c), kept.New(c)),
	)
}
