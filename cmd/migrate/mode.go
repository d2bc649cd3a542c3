package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
)

// modeOptions are those of the verbs pause, resume and rollback.
type modeOptions struct {
	*common
	mode api.Mode
	// done is what the migration is afterwards, in one word.
	done    string
	name    string
	wait    bool
	timeout time.Duration
}

func (o *modeOptions) command(use, short, long, examples string) *cobra.Command {
	return &cobra.Command{
		Use: use, Short: short, Long: long, Example: o.example(examples),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := o.Complete(cmd, args); err != nil {
				return err
			}
			if err := o.Validate(); err != nil {
				return err
			}
			return o.Run(cmd.Context())
		},
	}
}

// Complete takes the name.
func (o *modeOptions) Complete(cmd *cobra.Command, args []string) (err error) {
	o.name, err = oneArg(cmd, args, "migration")
	return err
}

// Validate refuses what cannot be meant.
func (o *modeOptions) Validate() error {
	switch {
	case o.timeout < 0:
		return usagef("--timeout must not be negative")
	case o.timeout > 0 && !o.wait:
		return usagef("--timeout is for --wait")
	}
	return nil
}

// Run sets the mode.
func (o *modeOptions) Run(ctx context.Context) error {
	k, err := o.find(ctx, o.name)
	if err != nil {
		return err
	}
	if completed := completedReason(k.Migration); completed != "" {
		if done, err := o.afterCompleted(k, completed); done || err != nil {
			return err
		}
	}
	now := k.Spec.Mode
	if now == "" {
		now = api.ModeRun
	}
	if now == o.mode {
		fmt.Fprintf(o.Out, "%s is %s already\n", k.title(), o.state())
	} else {
		if err := k.store.SetMode(ctx, o.mode); err != nil {
			return fmt.Errorf("cluster %s: writing %s: %w", k.connection.Name(), k.where, err)
		}
		fmt.Fprintf(o.Out, "%s %s\n", k.title(), o.done)
	}
	if k.record && o.terminal() && !o.wait {
		fmt.Fprintf(o.ErrOut, "The process that runs it takes notice. If none does: %s run %s ...\n", o.program, o.name)
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
// that was rolled back may be begun anew.
func (o *modeOptions) afterCompleted(k *kept, reason string) (done bool, err error) {
	switch {
	case reason == api.ReasonMoved && o.mode == api.ModeRollback:
		return true, fmt.Errorf("%s is completed: every ordinal that was asked for runs at the destination, and what the move had changed is restored; "+
			"to take it back, move it the other way: %s plan; if the destination is lost for good: %s recover %s", k.title(), o.program, o.program, o.name)
	case reason == api.ReasonRolledBack && o.mode == api.ModeRun:
		return false, nil
	}
	fmt.Fprintf(o.Out, "%s is completed (%s): nothing is to do\n", k.title(), reason)
	return true, nil
}

// await waits until the migration is completed in this mode.
func (o *modeOptions) await(ctx context.Context, k *kept) error {
	if o.timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, o.timeout, errTimeout(o.timeout))
		defer cancel()
	}
	stalled := ""
	return k.follow(ctx, o.clock, func(m *api.Migration) (bool, error) {
		if completed := completedReason(m); o.ends(m, completed) {
			fmt.Fprintf(o.Out, "%s completed: %s\n", k.title(), completed)
			return true, nil
		}
		if stall := stallOf(m); stall != nil && stall.Message != stalled {
			stalled = stall.Message
			fmt.Fprintf(o.ErrOut, "stalled: %s: %s\n", stall.Reason, stall.Message)
			if stall.Remedy != "" {
				fmt.Fprintf(o.ErrOut, "  to mend it: %s\n", stall.Remedy)
			}
		}
		return false, nil
	})
}

// ends says whether a migration has come to its end in this mode. One that was completed before
// it was to be recovered says so until its manager has taken notice.
func (o *modeOptions) ends(m *api.Migration, completed string) bool {
	return completed != "" && m.Spec.Mode == o.mode && (o.mode != api.ModeRecover || completed != api.ReasonMoved)
}

func errTimeout(after time.Duration) error {
	return &exitError{code: exitTimeout, err: fmt.Errorf("not completed after %s", after)}
}
