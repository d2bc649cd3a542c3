// Package move has the commands that move a StatefulSet, by this process or by a manager,
// and those that steer a move.
package move

import (
	"github.com/spf13/cobra"

	"github.com/sliceshift/sliceshift/cmd/migrate/command"
	"github.com/sliceshift/sliceshift/cmd/migrate/kept"
	"github.com/sliceshift/sliceshift/cmd/migrate/move/recipe"
	"github.com/sliceshift/sliceshift/cmd/migrate/move/ui"
)

// Commands are those that move a StatefulSet, and steer its move.
func Commands(c *command.Common) []*cobra.Command {
	return []*cobra.Command{
		newPreflight(c), newPlan(c), newCreate(c), newRun(c), newStatus(c), newReport(c),
		kept.New(c), newPause(c), newResume(c), newRollback(c), newRecover(c), newBudget(c), newGates(c), newHooks(c), recipe.New(c), ui.New(c),
	}
}
