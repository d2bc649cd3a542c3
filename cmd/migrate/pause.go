package main

import (
	"github.com/spf13/cobra"

	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
)

const pauseHelp = `Begins no further handoff. An ordinal that has been stopped already is started at
the destination first, so that a pause never keeps a replica down.`

func newPause(c *common) *cobra.Command {
	o := &modeOptions{common: c, mode: api.ModePause, done: "paused"}
	return o.command("pause NAME", "Begin no further handoff", pauseHelp, `  # Whatever drives it, a manager or a run
  migrate pause web -n shop --context east`)
}
