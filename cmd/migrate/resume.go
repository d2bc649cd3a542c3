package main

import (
	"github.com/spf13/cobra"

	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
)

const resumeHelp = `Lets a migration that was paused, or that is being rolled back, go on to its
destination.`

func newResume(c *common) *cobra.Command {
	o := &modeOptions{common: c, mode: api.ModeRun, done: "resumed"}
	return o.command("resume NAME", "Let a paused migration go on", resumeHelp, `  # Go on where it was
  migrate resume web -n shop --context east`)
}
