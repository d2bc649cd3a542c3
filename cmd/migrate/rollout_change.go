package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/cli-runtime/pkg/genericclioptions"

	slicesapi "github.com/sliceshift/sliceshift/slices/v1alpha1"
)

// rolloutChange is a verb that changes one thing of a StatefulSet.
type rolloutChange struct {
	use, short, long, examples string
	// change is the merge patch and what is done by it; a nil patch when there is nothing
	// to do.
	change func(*common, *slice) (patch map[string]any, done string, err error)
	// template is true when what is changed is the template.
	template bool
}

func (v rolloutChange) command(c *common) *cobra.Command {
	var format *genericclioptions.PrintFlags
	cmd := &cobra.Command{
		Use: v.use, Short: v.short, Long: v.long, Example: c.example(v.examples),
		RunE: func(cmd *cobra.Command, args []string) error {
			name, err := sliceArg(cmd, args)
			if err != nil {
				return err
			}
			return v.run(cmd.Context(), c, name, format)
		},
	}
	format = resultFlags(cmd)
	return cmd
}

func (v rolloutChange) run(ctx context.Context, c *common, name string, format *genericclioptions.PrintFlags) error {
	s, err := c.findSlice(ctx, name)
	if err != nil {
		return err
	}
	patch, done, err := v.change(c, s)
	if err != nil {
		return err
	}
	if patch != nil {
		if err := s.patch(ctx, types.MergePatchType, patch); err != nil {
			return err
		}
	}
	if v.template {
		c.warnMoving(s)
	}
	return c.printResult(format, s.StatefulSet, done)
}

// updatesPaused says whether updates are stopped, by either of the two fields.
func updatesPaused(set *slicesapi.StatefulSet) bool {
	rolling := set.Spec.UpdateStrategy.RollingUpdate
	return set.Spec.Paused || rolling != nil && rolling.Paused
}

// kubectlName is the set as kubectl calls it.
func (s *slice) kubectlName() string {
	return "statefulset." + slicesapi.GroupVersion.Group + "/" + s.Name
}

func newRolloutPause(c *common) *cobra.Command {
	return rolloutChange{
		use: "pause NAME", short: "Stop a roll-out where it is",
		long: `Stops updates (spec.paused). Pods are still made, healed and removed. A pod that is being
updated is finished.`,
		examples: `  # Stop where it is
  migrate rollout pause web -n shop`,
		change: func(_ *common, s *slice) (map[string]any, string, error) {
			if updatesPaused(s.StatefulSet) {
				return nil, "already paused", nil
			}
			return map[string]any{"spec": map[string]any{"paused": true}}, "paused", nil
		},
	}.command(c)
}

func newRolloutResume(c *common) *cobra.Command {
	return rolloutChange{
		use: "resume NAME", short: "Let a roll-out go on that was paused",
		long: `Lets updates go on: clears spec.paused, and spec.updateStrategy.rollingUpdate.paused
where that is set.`,
		examples: `  # Go on
  migrate rollout resume web -n shop`,
		change: func(_ *common, s *slice) (map[string]any, string, error) {
			if !updatesPaused(s.StatefulSet) {
				return nil, "already resumed", nil
			}
			spec := map[string]any{"paused": nil}
			if s.Spec.UpdateStrategy.RollingUpdate != nil {
				spec["updateStrategy"] = map[string]any{"rollingUpdate": map[string]any{"paused": nil}}
			}
			return map[string]any{"spec": spec}, "resumed", nil
		},
	}.command(c)
}

func newRolloutRestart(c *common) *cobra.Command {
	return rolloutChange{
		use: "restart NAME", short: "Make every pod anew",
		long: `Has every pod made anew under the update strategy: it writes the time into an
annotation of the template.`,
		examples: `  # Restart, and wait for it
  migrate rollout restart web -n shop
  migrate rollout status web -n shop`,
		change: restarted, template: true,
	}.command(c)
}

func restarted(c *common, s *slice) (map[string]any, string, error) {
	if updatesPaused(s.StatefulSet) {
		return nil, "", fmt.Errorf("can't restart paused %s in cluster %s: its pods would not follow; first: %s rollout resume %s -n %s",
			s.title(), s.connection.Name(), c.program, s.Name, s.Namespace)
	}
	now := c.clock.Now().Format(time.RFC3339)
	if s.Spec.Template.Annotations[slicesapi.RestartedAtAnnotationKey] == now {
		return nil, "", fmt.Errorf("%s in cluster %s was restarted within the past second: wait before restarting it again", s.title(), s.connection.Name())
	}
	annotations := map[string]any{"annotations": map[string]any{slicesapi.RestartedAtAnnotationKey: now}}
	return map[string]any{"spec": map[string]any{"template": map[string]any{"metadata": annotations}}}, "restarted", nil
}
