package main

import (
	"context"
	"fmt"
	"slices"

	"github.com/spf13/cobra"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sliceshift/sliceshift/slices/history"
	slicesapi "github.com/sliceshift/sliceshift/slices/v1alpha1"
)

// rolloutUndoOptions are those of the verb rollout undo.
type rolloutUndoOptions struct {
	*common
	name       string
	toRevision int64
	dryRun     *choice
	format     *genericclioptions.PrintFlags
}

const rolloutUndoHelp = `Gives a StatefulSet the template of an earlier revision: that of --to-revision; without
it, the current revision where a roll-out is under way, a canary for example, and else
the one before. The pods follow under the update strategy, as after any other change;
those that still have that revision are left alone.

What claim templates request stays, and the command says so: a volume cannot shrink. A
change that is kept in a repository must be taken back there too, or it comes again.`

const rolloutUndoExamples = `  # Stop a roll-out and take it back, or the last one when none is under way
  migrate rollout undo web -n shop

  # To revision 3; only show its template
  migrate rollout undo web -n shop --to-revision 3 --dry-run=client`

func newRolloutUndo(c *common) *cobra.Command {
	o := &rolloutUndoOptions{common: c, dryRun: newChoice("none", "none", "client", "server")}
	cmd := &cobra.Command{
		Use: "undo NAME", Short: "Go back to an earlier revision",
		Long: rolloutUndoHelp, Example: c.example(rolloutUndoExamples),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := o.Complete(cmd, args); err != nil {
				return err
			}
			return o.Run(cmd.Context())
		},
	}
	cmd.Flags().Int64Var(&o.toRevision, "to-revision", 0, "the revision to go back to (default: the current one in mid-roll-out, else the one before)")
	cmd.Flags().Var(o.dryRun, "dry-run", "client: only print the template; server: let the API server judge it, without keeping it")
	cmd.Flags().Lookup("dry-run").NoOptDefVal = "client"
	o.format = resultFlags(cmd)
	return cmd
}

// Complete takes the name.
func (o *rolloutUndoOptions) Complete(cmd *cobra.Command, args []string) (err error) {
	if o.toRevision < 0 {
		return usagef("--to-revision must not be negative")
	}
	o.name, err = sliceArg(cmd, args)
	return err
}

// Run writes the template of the revision.
func (o *rolloutUndoOptions) Run(ctx context.Context) error {
	s, err := o.findSlice(ctx, o.name)
	if err != nil {
		return err
	}
	revisions, err := s.revisions(ctx)
	if err != nil {
		return err
	}
	revision, err := o.target(s, revisions)
	if err != nil {
		return err
	}
	if o.dryRun.value == "client" {
		return printRevision(o.Out, s, revision)
	}
	o.tellClaims(s, revision)
	if sameTemplate(s.StatefulSet, revision) {
		return o.printResult(o.format, s.StatefulSet, fmt.Sprintf("skipped rollback (current template already matches revision %d)", revision.Revision))
	}
	template, err := history.Apply(revision)
	if err != nil {
		return err
	}
	done := "rolled back"
	var opts []client.PatchOption
	if o.dryRun.value == "server" {
		done += " (server dry run)"
		opts = append(opts, client.DryRunAll)
	}
	if err := s.replaceTemplate(ctx, template, opts...); err != nil {
		return err
	}
	o.warnMoving(s)
	if updatesPaused(s.StatefulSet) {
		fmt.Fprintf(o.ErrOut, "%s is paused: its pods follow after: %s rollout resume %s -n %s\n", s.title(), o.program, s.Name, s.Namespace)
	}
	return o.printResult(o.format, s.StatefulSet, done)
}

// target is the revision to go back to, unless one was named: the current one in
// mid-roll-out, whatever was tried since it was complete, and else the newest one of another
// template.
func (o *rolloutUndoOptions) target(s *slice, revisions []*appsv1.ControllerRevision) (*appsv1.ControllerRevision, error) {
	if o.toRevision > 0 {
		return s.numbered(revisions, o.toRevision)
	}
	if current := s.Status.CurrentRevision; current != s.Status.UpdateRevision {
		if i := slices.IndexFunc(revisions, func(r *appsv1.ControllerRevision) bool { return r.Name == current }); i >= 0 {
			return revisions[i], nil
		}
	}
	for _, revision := range slices.Backward(revisions) {
		if !sameTemplate(s.StatefulSet, revision) {
			return revision, nil
		}
	}
	return nil, fmt.Errorf("no last revision to roll back to: %s has no revision of another template", s.title())
}

// sameTemplate says whether a set has the template of a revision, whatever its claims.
func sameTemplate(set *slicesapi.StatefulSet, revision *appsv1.ControllerRevision) bool {
	alone := set.DeepCopy()
	alone.Spec.VolumeClaimUpdateStrategy = nil
	return history.Matches(alone, revision)
}

// replaceTemplate writes a template in one piece, unless the set was changed since it
// was read.
func (s *slice) replaceTemplate(ctx context.Context, template corev1.PodTemplateSpec, opts ...client.PatchOption) error {
	return s.patch(ctx, types.JSONPatchType, []map[string]any{
		{"op": "replace", "path": "/metadata/resourceVersion", "value": s.ResourceVersion},
		{"op": "replace", "path": "/spec/template", "value": template},
	}, opts...)
}
