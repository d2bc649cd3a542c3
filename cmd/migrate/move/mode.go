package move

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/sliceshift/sliceshift/cmd/migrate/command"
	"github.com/sliceshift/sliceshift/cmd/migrate/move/status"
	"github.com/sliceshift/sliceshift/internal/records"
	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
)

// modeOptions are those of the commands that set the mode of a migration.
type modeOptions struct {
	named
	mode api.Mode
	// done is what the migration is afterwards, in one word.
	done string
	wait bool
	// kept is the word that ordinals may go back to volumes that they have left.
	kept    bool
	timeout time.Duration
}

const pauseHelp = `Begins no further handoff. An ordinal that has been stopped already is started at
the destination first, so that a pause never keeps a replica down.`

func newPause(c *command.Common) *cobra.Command {
	return c.Command(&modeOptions{named: named{Common: c}, mode: api.ModePause, done: "paused"}, &cobra.Command{
		Use: "pause NAME", Short: "Begin no further handoff", Long: pauseHelp, Example: `  # Whatever drives it, a manager or a run
  migrate pause web -n shop --context east`,
	})
}

const resumeHelp = `Lets a migration that was paused, or that is being rolled back, go on to its
destination.`

func newResume(c *command.Common) *cobra.Command {
	return c.Command(&modeOptions{named: named{Common: c}, mode: api.ModeRun, done: "resumed"}, &cobra.Command{
		Use: "resume NAME", Short: "Let a paused migration go on", Long: resumeHelp, Example: `  # Go on where it was
  migrate resume web -n shop --context east`,
	})
}

const rollbackHelp = `Takes every ordinal back to the source, one at a time and under the same budget, and
removes what the migration had made at the destination. It can be done at any moment
until the migration is completed.`

func newRollback(c *command.Common) *cobra.Command {
	o := &modeOptions{named: named{Common: c}, mode: api.ModeRollback, done: "is being rolled back"}
	cmd := c.Command(o, &cobra.Command{
		Use: "rollback NAME", Short: "Take every ordinal back to the source", Long: rollbackHelp, Example: `  # Turn round
  migrate rollback web -n shop --context east

  # Wait until everything is back; exit 4 after half an hour
  migrate rollback web -n shop --context east --wait --timeout 30m`,
	})
	cmd.Flags().BoolVar(&o.kept, "to-kept-volumes", false, "of claim templates that moved by method Empty: ordinals may go back to the volumes that they have left, as old as they are")
	cmd.Flags().BoolVar(&o.wait, "wait", false, "wait until it is completed")
	cmd.Flags().DurationVar(&o.timeout, "timeout", 0, "how long to wait (default: for ever)")
	return cmd
}

// Validate refuses what cannot be meant.
func (o *modeOptions) Validate() error {
	if o.timeout > 0 && !o.wait {
		return command.Usagef("--timeout is for --wait")
	}
	return command.ValidateTimeout(o.timeout)
}

// Run sets the mode.
func (o *modeOptions) Run(ctx context.Context) error {
	k, err := o.find(ctx)
	if err != nil {
		return err
	}
	if completed := records.Completed(k.Migration); completed != "" {
		if done, err := o.afterCompleted(k, completed); done || err != nil {
			return err
		}
	}
	now := k.Spec.Mode
	if now == "" {
		now = api.ModeRun
	}
	change := records.Change{Mode: o.mode}
	if o.kept {
		change.Volumes = returning(k.Spec.Volumes)
	}
	if now == o.mode && !o.kept {
		fmt.Fprintf(o.Out, "%s is %s already\n", k.title(), o.state())
	} else {
		if err := k.change(ctx, change); err != nil {
			return err
		}
		fmt.Fprintf(o.Out, "%s %s\n", k.title(), o.done)
	}
	if k.record && o.Terminal() && !o.wait {
		fmt.Fprintf(o.ErrOut, "The process that runs it takes notice. If none does: %s run %s ...\n", o.Program, o.name)
	}
	if o.wait {
		return o.await(ctx, k)
	}
	return nil
}

// state is what a migration of this mode is.
func (o *modeOptions) state() string {
	switch o.mode {
	case api.ModePause:
		return "paused"
	case api.ModeRollback:
		return "being rolled back"
	default:
		return "running"
	}
}

// afterCompleted says what a mode means once nothing is left to do. A migration
// that was rolled back may begin again.
func (o *modeOptions) afterCompleted(k *storedMigration, reason string) (done bool, err error) {
	switch {
	case reason == api.ReasonMoved && o.mode == api.ModeRollback:
		return true, fmt.Errorf("%s is completed: every ordinal that was asked for runs at the destination, and what the move had changed is restored; "+
			"to take it back, move it the other way: %s plan; if the destination is lost for good: %s recover %s", k.title(), o.Program, o.Program, o.name)
	case reason == api.ReasonRolledBack && o.mode == api.ModeRun:
		return false, nil
	}
	fmt.Fprintf(o.Out, "%s is completed (%s): nothing is to do\n", k.title(), reason)
	return true, nil
}

// await waits until the migration is completed in this mode.
func (o *modeOptions) await(ctx context.Context, k *storedMigration) error {
	return command.Within(ctx, o.timeout, func(ctx context.Context) error {
		stalled := ""
		return k.follow(ctx, o.Clock, func(m *api.Migration) (bool, error) {
			if completed := records.Completed(m); o.ends(m, completed) {
				fmt.Fprintf(o.Out, "%s completed: %s\n", k.title(), completed)
				return true, nil
			}
			if stall := status.StallOf(m); stall != nil && stall.Message != stalled {
				stalled = stall.Message
				fmt.Fprintf(o.ErrOut, "stalled: %s: %s\n", stall.Reason, stall.Message)
				if stall.Remedy != "" {
					fmt.Fprintf(o.ErrOut, "  to mend it: %s\n", stall.Remedy)
				}
			}
			return false, nil
		})
	})
}

// ends says whether a migration has come to its end in this mode. One that was completed before
// it was to be recovered says so until its manager has taken notice.
func (o *modeOptions) ends(m *api.Migration, completed string) bool {
	return completed != "" && m.Spec.Mode == o.mode && (o.mode != api.ModeRecover || completed != api.ReasonMoved)
}

// returning is what is asked of volumes with the word that ordinals may go back to those that they
// have left.
func returning(volumes []api.VolumeSpec) []api.VolumeSpec {
	for i := range volumes {
		if volumes[i].Method == api.MethodEmpty {
			volumes[i].Empty.ReturnsToKept = true
		}
	}
	return volumes
}
