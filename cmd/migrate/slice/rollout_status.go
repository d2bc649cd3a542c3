package slice

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	slicesapi "github.com/sliceshift/sliceshift/api/apps/v1alpha1"
	"github.com/sliceshift/sliceshift/cmd/migrate/command"
	"github.com/sliceshift/sliceshift/slices/decide"
)

// rolloutStatusOptions are the options of the command rollout status.
type rolloutStatusOptions struct {
	named
	watch    bool
	timeout  time.Duration
	revision int64
}

const rolloutStatusHelp = `Shows how far the roll-out of a StatefulSet is, and waits for its end.

If a pod is left alone that should be updated or recreated, it says which one and why.

The roll-out is complete when the condition Ready of the StatefulSet is True: all pods are
available for minReadySeconds, and no surge pod is left.

Exit codes: 0 rolled out (with --watch=false also: still in progress), 1 error or the
roll-out is stalled, 4 timeout.`

const rolloutStatusExamples = `  # Wait for the end
  migrate rollout status web -n shop

  # Give up after ten minutes; only if revision 3 is still the one
  migrate rollout status web -n shop --timeout 10m --revision 3

  # Only look
  migrate rollout status web -n shop --watch=false`

func newRolloutStatus(c *command.Common) *cobra.Command {
	o := &rolloutStatusOptions{named: named{Common: c}}
	cmd := c.Command(o, &cobra.Command{
		Use: "status NAME", Short: "Show how far a roll-out is, and wait for its end",
		Long: rolloutStatusHelp, Example: rolloutStatusExamples,
	})
	flags := cmd.Flags()
	flags.BoolVarP(&o.watch, "watch", "w", true, "wait for the end of the roll-out")
	flags.DurationVar(&o.timeout, "timeout", 0, "how long to wait (default: no limit)")
	flags.Int64Var(&o.revision, "revision", 0, "fail when another revision is rolled out (default: the latest)")
	return cmd
}

// Validate rejects invalid combinations of flags.
func (o *rolloutStatusOptions) Validate() error {
	return cmp.Or(validateRevision("--revision", o.revision), command.ValidateTimeout(o.timeout))
}

// Run prints each change until the rollout is complete.
func (o *rolloutStatusOptions) Run(ctx context.Context) error {
	return command.Within(ctx, o.timeout, o.run)
}

func (o *rolloutStatusOptions) run(ctx context.Context) error {
	s, err := o.find(ctx)
	if err != nil {
		return err
	}
	last := ""
	look := func(set *slicesapi.StatefulSet) (bool, error) {
		if err := o.pinned(ctx, s, set); err != nil {
			return false, err
		}
		state, done, err := rolloutState(set)
		if text := state + heldText(set, done); err == nil && text != last {
			last = text
			fmt.Fprint(o.Out, text)
		}
		return done, err
	}
	if !o.watch {
		_, err = look(s.StatefulSet)
		return err
	}
	return s.follow(ctx, o.Clock, look)
}

// pinned returns an error if another revision than the requested one is being rolled out.
func (o *rolloutStatusOptions) pinned(ctx context.Context, s *statefulSet, set *slicesapi.StatefulSet) error {
	if o.revision == 0 || !observed(set) || set.Status.UpdateRevision == "" {
		return nil
	}
	var running appsv1.ControllerRevision
	err := s.connection.Live().Get(ctx, client.ObjectKey{Namespace: set.Namespace, Name: set.Status.UpdateRevision}, &running)
	switch {
	case apierrors.IsNotFound(err):
		return nil // the status is outdated; the next one names another revision
	case err != nil:
		return fmt.Errorf("cluster %s: reading ControllerRevision %s/%s: %w", s.connection.Name(), set.Namespace, set.Status.UpdateRevision, err)
	case running.Revision != o.revision:
		return fmt.Errorf("desired revision (%d) is different from the running revision (%d)", o.revision, running.Revision)
	}
	return nil
}

func observed(set *slicesapi.StatefulSet) bool {
	return set.Status.ObservedGeneration > 0 && set.Status.ObservedGeneration >= set.Generation
}

// judged returns a condition that the controller has set for the present generation, or nil.
func judged(set *slicesapi.StatefulSet, kind string) *metav1.Condition {
	c := meta.FindStatusCondition(set.Status.Conditions, kind)
	if c == nil || c.ObservedGeneration < set.Generation {
		return nil
	}
	return c
}

// rolloutState returns the progress of a rollout, in the words of kubectl. The controller judges whether it is done or has
// failed: the counts of a status include surge pods, and pods that are not Ready for minReadySeconds yet.
func rolloutState(set *slicesapi.StatefulSet) (text string, done bool, err error) {
	spec, err := decide.SpecOf(set)
	if err != nil {
		return "", false, fmt.Errorf("StatefulSet %s/%s: %w", set.Namespace, set.Name, err)
	}
	if spec.Strategy == slicesapi.OnDelete {
		return "", false, fmt.Errorf("rollout status is only available for the strategy types %s and %s, not %s: with that a pod follows when it is deleted",
			slicesapi.RollingUpdate, slicesapi.Recreate, slicesapi.OnDelete)
	}
	if c := judged(set, slicesapi.ConditionStalled); c != nil && c.Status == metav1.ConditionTrue {
		if c.Reason == decide.ReasonRolloutDeadline {
			return "", false, fmt.Errorf("statefulset %q exceeded its progress deadline: %s", set.Name, c.Message)
		}
		return "", false, fmt.Errorf("statefulset %q is stalled: %s", set.Name, c.Message)
	}
	ready, updated := judged(set, slicesapi.ConditionReady), inScope(spec)
	switch status := set.Status; {
	case !observed(set) || ready == nil:
		return "Waiting for statefulset spec update to be observed...\n", false, nil
	case ready.Status != metav1.ConditionTrue:
		return waitsFor(status, spec.Replicas, updated) + "...\n", false, nil
	case updated < spec.Replicas:
		return fmt.Sprintf("partitioned roll out complete: %d new pods have been updated...\n", status.UpdatedReplicas), true, nil
	default:
		return fmt.Sprintf("statefulset rolling update complete %d pods at revision %s...\n", status.CurrentReplicas, status.CurrentRevision), true, nil
	}
}

// waitsFor returns what a rollout waits for: the first count that lacks pods, or the controller's own words. updated is the
// number of pods that get the new revision.
func waitsFor(status slicesapi.StatefulSetStatus, replicas, updated int32) string {
	switch missing := replicas - status.ReadyReplicas; {
	case missing > 0:
		return fmt.Sprintf("Waiting for %d pods to be ready", missing)
	case updated < replicas && status.UpdatedReplicas < updated:
		return fmt.Sprintf("Waiting for partitioned roll out to finish: %d out of %d new pods have been updated", status.UpdatedReplicas, updated)
	case updated == replicas && status.UpdateRevision != status.CurrentRevision && status.UpdatedReplicas < replicas:
		return fmt.Sprintf("waiting for statefulset rolling update to complete %d pods at revision %s", status.UpdatedReplicas, status.UpdateRevision)
	default:
		return "Waiting for roll out to finish: " + meta.FindStatusCondition(status.Conditions, slicesapi.ConditionReady).Message
	}
}

// inScope returns how many ordinals may have the new revision, according to the partition.
func inScope(spec decide.Spec) int32 {
	return spec.Replicas - spec.Below(spec.Partition)
}

// heldText returns what holds a rollout, one line for each condition.
func heldText(set *slicesapi.StatefulSet, done bool) string {
	if done || !observed(set) {
		return ""
	}
	var text strings.Builder
	if updatesPaused(set) {
		text.WriteString("  paused: updates continue after rollout resume\n")
	}
	for _, kind := range []string{slicesapi.ConditionHeld, slicesapi.ConditionFailedCreatePod, slicesapi.ConditionFailedUpdatePod} {
		if c := meta.FindStatusCondition(set.Status.Conditions, kind); c != nil && c.Status == metav1.ConditionTrue {
			fmt.Fprintf(&text, "  %s: %s\n", kind, c.Message)
		}
	}
	return text.String()
}
