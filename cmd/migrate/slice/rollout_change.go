package slice

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	slicesapi "github.com/sliceshift/sliceshift/api/apps/v1alpha1"
	"github.com/sliceshift/sliceshift/cmd/migrate/command"
)

// changeOptions are the options of a command that changes one field of StatefulSets.
type changeOptions struct {
	targets
	result  command.Result
	manager string
	// change returns the merge patch and a description of the change. A nil patch means that there is nothing to do.
	change func(*command.Common, *statefulSet) (patch map[string]any, done string, err error)
	// template is true if the command changes the template.
	template bool
}

func newChange(c *command.Common, o *changeOptions, cmd *cobra.Command) *cobra.Command {
	o.Common = c
	cmd = c.Command(o, cmd)
	o.addSelector(cmd.Flags())
	addManager(cmd.Flags(), &o.manager, rolloutManager)
	o.result = command.AddPrinter(cmd)
	return cmd
}

// Validate rejects an unknown format.
func (o *changeOptions) Validate() error { return o.result.Validate() }

// Run applies the change to each set.
func (o *changeOptions) Run(ctx context.Context) error {
	return o.each(ctx, func(s *statefulSet) error {
		patch, done, err := o.change(o.Common, s)
		if err != nil {
			return err
		}
		if patch != nil {
			if err := s.patch(ctx, types.MergePatchType, patch, client.FieldOwner(o.manager)); err != nil {
				return err
			}
		}
		if o.template {
			s.warnMoving(o.Common)
		}
		return o.PrintResult(o.result, s.StatefulSet, done)
	})
}

// updatesPaused reports whether updates are paused, by either of the two fields.
func updatesPaused(set *slicesapi.StatefulSet) bool {
	rolling := set.Spec.UpdateStrategy.RollingUpdate
	return set.Spec.Paused || rolling != nil && rolling.Paused
}

// kubectlName returns the name of the set as kubectl prints it.
func (s *statefulSet) kubectlName() string {
	return "statefulset." + slicesapi.GroupVersion.Group + "/" + s.Name
}

func newRolloutPause(c *command.Common) *cobra.Command {
	return newChange(c, &changeOptions{change: paused}, &cobra.Command{
		Use: "pause (NAME... | -l SELECTOR)", Short: "Stop a roll-out where it is",
		Long: `Stops updates (spec.paused). Pods are still created, repaired and removed. The update of
a pod that has begun is finished.`,
		Example: `  # Stop where it is
  migrate rollout pause web -n shop

  # Stop every one with a label
  migrate rollout pause -l app=web -n shop`,
	})
}

func paused(_ *command.Common, s *statefulSet) (map[string]any, string, error) {
	if updatesPaused(s.StatefulSet) {
		return nil, "already paused", nil
	}
	return map[string]any{"spec": map[string]any{"paused": true}}, "paused", nil
}

func newRolloutResume(c *command.Common) *cobra.Command {
	return newChange(c, &changeOptions{change: resumed}, &cobra.Command{
		Use: "resume (NAME... | -l SELECTOR)", Short: "Continue a paused roll-out",
		Long: `Continues updates: clears spec.paused, and spec.updateStrategy.rollingUpdate.paused
where that is set.`,
		Example: `  # Go on
  migrate rollout resume web -n shop

  # Go on with two of them
  migrate rollout resume web db -n shop`,
	})
}

func resumed(_ *command.Common, s *statefulSet) (map[string]any, string, error) {
	if !updatesPaused(s.StatefulSet) {
		return nil, "already resumed", nil
	}
	spec := map[string]any{"paused": nil}
	if s.Spec.UpdateStrategy.RollingUpdate != nil {
		spec["updateStrategy"] = map[string]any{"rollingUpdate": map[string]any{"paused": nil}}
	}
	return map[string]any{"spec": spec}, "resumed", nil
}

func newRolloutRestart(c *command.Common) *cobra.Command {
	return newChange(c, &changeOptions{change: restarted, template: true}, &cobra.Command{
		Use: "restart (NAME... | -l SELECTOR)", Short: "Recreate every pod",
		Long: `Recreates every pod under the update strategy: it writes the time into an
annotation of the template.`,
		Example: `  # Restart, and wait for it
  migrate rollout restart web -n shop
  migrate rollout status web -n shop

  # Restart every one with a label
  migrate rollout restart -l app=web -n shop`,
	})
}

func restarted(c *command.Common, s *statefulSet) (map[string]any, string, error) {
	if updatesPaused(s.StatefulSet) {
		return nil, "", fmt.Errorf("can't restart paused %s in cluster %s: its pods would not follow; first: %s",
			s.title(), s.connection.Name(), c.Again("rollout resume", s.Name, s.Namespace))
	}
	now := c.Clock.Now().Format(time.RFC3339)
	if s.Spec.Template.Annotations[slicesapi.RestartedAtAnnotationKey] == now {
		return nil, "", fmt.Errorf("%s in cluster %s was restarted within the past second: wait before restarting it again", s.title(), s.connection.Name())
	}
	annotations := map[string]any{"annotations": map[string]any{slicesapi.RestartedAtAnnotationKey: now}}
	return map[string]any{"spec": map[string]any{"template": map[string]any{"metadata": annotations}}}, "restarted", nil
}

const rolloutHelp = `Manages the roll-outs of a StatefulSet of apps.sliceshift.io, with the commands
of "kubectl rollout". Use kubectl for one of apps/v1; "migrate adopt" converts one kind to
the other.`

const rolloutExamples = `  # Wait for the end of a roll-out, and see why a pod is left alone
  migrate rollout status web -n shop

  # Which revisions there are, and back to the one before
  migrate rollout history web -n shop
  migrate rollout undo web -n shop

  # Stop a roll-out where it is, go on, restart every pod
  migrate rollout pause web -n shop
  migrate rollout resume web -n shop
  migrate rollout restart web -n shop`

func newRollout(c *command.Common) *cobra.Command {
	cmd := c.ParentCommand(&cobra.Command{
		Use:     "rollout",
		Short:   "Manage the roll-outs of a StatefulSet of apps.sliceshift.io",
		Long:    rolloutHelp,
		Example: rolloutExamples,

		SuggestionsMinimumDistance: 2,
	})
	cmd.AddCommand(
		newRolloutStatus(c), newRolloutHistory(c), newRolloutUndo(c),
		newRolloutPause(c), newRolloutResume(c), newRolloutRestart(c),
	)
	return cmd
}
