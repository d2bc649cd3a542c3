package move

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/cmd/migrate/command"
	"github.com/sliceshift/sliceshift/internal/records"
)

const hooksHelp = `Continues a migration that waits for a hook (spec.hooks): runs the hook again, or skips it.
The status of the migration shows its hooks.`

func newHooks(c *command.Common) *cobra.Command {
	group := c.ParentCommand(&cobra.Command{Use: "hooks", Short: "Continue after a hook that has failed", Long: hooksHelp})
	group.AddCommand(
		c.Command(&hooksOptions{named: named{Common: c}, do: api.HookRetry}, &cobra.Command{
			Use: "retry NAME", Short: "Run the hook again that has failed", Long: hooksRetryHelp, Example: `  # Once its cause is fixed
  migrate hooks retry web -n shop --context east`,
		}),
		c.Command(&hooksOptions{named: named{Common: c}, do: api.HookSkip}, &cobra.Command{
			Use: "skip NAME", Short: "Continue without the hook that the migration waits for", Long: hooksSkipHelp, Example: `  # You have done its work by hand
  migrate hooks skip web -n shop --context east`,
		}),
	)
	return group
}

const hooksRetryHelp = `Runs the failed hook again, as another Job, with the current job.spec of the
migration.`

const hooksSkipHelp = `Continues without the hook that the migration waits for, for this ordinal only. The hook
runs for the next one. A running Job continues to its end.`

// hooksOptions are the options of the commands that answer a hook.
type hooksOptions struct {
	named
	do api.HookRemedy
}

// Run writes the answer.
func (o *hooksOptions) Run(ctx context.Context) error {
	k, err := o.find(ctx)
	if err != nil {
		return err
	}
	run := waitedFor(k.Migration)
	switch {
	case run == nil:
		return command.Refusedf("%s waits for no hook; its status shows its hooks: %s", k.title(), o.Again("status", k.Name, k.Namespace))
	case o.do == api.HookRetry && !run.Broke():
		return command.Refusedf("hook %s of %s is %s: only a failed hook is run again; to continue without it: %s",
			run.Name, k.title(), run.State, o.Again("hooks skip", k.Name, k.Namespace))
	}
	if err := k.change(ctx, records.Change{HookAnswer: &api.HookAnswer{Job: run.Job, Do: o.do}}); err != nil {
		return err
	}
	done := "is run again"
	if o.do == api.HookSkip {
		done = "is skipped"
	}
	about := ""
	if run.Ordinal != nil {
		about = fmt.Sprintf(" for ordinal %d", *run.Ordinal)
	}
	fmt.Fprintf(o.Out, "%s: hook %s%s %s\n", k.title(), run.Name, about, done)
	return nil
}

// waitedFor returns the first hook run that is not over, or nil.
func waitedFor(m *api.Migration) *api.HookRun {
	for i := range m.Status.Hooks {
		run := &m.Status.Hooks[i]
		for _, hook := range m.Spec.Hooks {
			if hook.Name == run.Name && hook.Point == run.Point && !hook.Over(*run) {
				return run
			}
		}
	}
	return nil
}
