package main

import "github.com/spf13/cobra"

// moveCommands move a StatefulSet, and steer its move.
func moveCommands(c *common) []*cobra.Command {
	return []*cobra.Command{
		newPlan(c), newCreate(c), newRun(c), newStatus(c),
		newPause(c), newResume(c), newRollback(c), newRecover(c), newBudget(c),
	}
}
