package slice

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/spf13/cobra"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	slicesapi "github.com/sliceshift/sliceshift/api/apps/v1alpha1"
	"github.com/sliceshift/sliceshift/cmd/migrate/command"
	"github.com/sliceshift/sliceshift/slices/history"
	"github.com/sliceshift/sliceshift/slices/inputs"
)

// rolloutUndoOptions are the options of the command rollout undo.
type rolloutUndoOptions struct {
	targets
	toRevision int64
	dryRun     command.DryRun
	result     command.Result
}

const rolloutUndoHelp = `Gives a StatefulSet the template of an earlier revision: that of --to-revision; without
it, the current revision where a roll-out is under way, a canary for example, and else
the one before. The pods follow under the update strategy, as after any other change;
those that still have that revision are left alone.

The requests of claim templates stay, and the command says so: a volume cannot shrink. If
the template is in a repository, revert it there, too, or the change returns.

With spec.revisionInputs the pods also get the contents of that revision. The ConfigMaps
and Secrets keep theirs: revisionInputs[].rolledBack replaces it until they change.`

const rolloutUndoExamples = `  # Stop a roll-out and take it back, or the last one when none is under way
  migrate rollout undo web -n shop

  # To revision 3; only show its template
  migrate rollout undo web -n shop --to-revision 3 --dry-run=client`

func newRolloutUndo(c *command.Common) *cobra.Command {
	o := &rolloutUndoOptions{targets: targets{Common: c}}
	cmd := c.Command(o, &cobra.Command{
		Use: "undo (NAME... | -l SELECTOR)", Short: "Go back to an earlier revision",
		Long: rolloutUndoHelp, Example: rolloutUndoExamples,
	})
	cmd.Flags().Int64Var(&o.toRevision, "to-revision", 0, "the revision to go back to (default: the current one during a roll-out, else the one before)")
	o.addSelector(cmd.Flags())
	o.dryRun = command.AddDryRun(cmd.Flags(), "only print the template")
	o.result = command.AddPrinter(cmd)
	return cmd
}

// Validate rejects invalid combinations of flags.
func (o *rolloutUndoOptions) Validate() error {
	return cmp.Or(validateRevision("--to-revision", o.toRevision), o.result.Validate())
}

// Run writes the template of the revision to each set.
func (o *rolloutUndoOptions) Run(ctx context.Context) error {
	return o.each(ctx, func(s *statefulSet) error { return o.undo(ctx, s) })
}

func (o *rolloutUndoOptions) undo(ctx context.Context, s *statefulSet) error {
	revisions, err := s.revisions(ctx)
	if err != nil {
		return err
	}
	newest, err := newestInputs(revisions)
	if err != nil {
		return err
	}
	revision, err := o.target(s, revisions, newest)
	if err != nil {
		return err
	}
	if o.dryRun.Client() {
		return printRevision(o.Out, s, revision)
	}
	o.warnClaims(s, revision)
	if same(s.StatefulSet, revision, newest) {
		return o.PrintResult(o.result, s.StatefulSet, fmt.Sprintf("skipped rollback (current template already matches revision %d)", revision.Revision))
	}
	template, err := history.Apply(revision)
	if err != nil {
		return err
	}
	restored, err := s.restoredInputs(ctx, revision, newest)
	if err != nil {
		return err
	}
	o.warnApplied(s)
	o.warnInputs(s, revision, restored)
	if err := s.replaceTemplate(ctx, template, restored, &client.PatchOptions{DryRun: o.dryRun.OfRequest(), FieldManager: rolloutManager}); err != nil {
		return err
	}
	s.warnMoving(o.Common)
	s.warnPaused(o.Common)
	return o.PrintResult(o.result, s.StatefulSet, "rolled back"+o.dryRun.Suffix())
}

// target returns the revision to return to. Unless a revision is named, this is the current one during a rollout, even
// after several attempts, and otherwise the newest one with another template or other inputs.
func (o *rolloutUndoOptions) target(s *statefulSet, revisions []*appsv1.ControllerRevision, newest []inputs.Record) (*appsv1.ControllerRevision, error) {
	if o.toRevision > 0 {
		return s.numbered(revisions, o.toRevision)
	}
	if current := s.Status.CurrentRevision; current != s.Status.UpdateRevision {
		if i := slices.IndexFunc(revisions, func(r *appsv1.ControllerRevision) bool { return r.Name == current }); i >= 0 {
			return revisions[i], nil
		}
	}
	// The roll-out of a newer revision has not begun. It may never begin, because an input cannot be had.
	if at := s.updateIndex(revisions); at >= 0 && at < len(revisions)-1 {
		return revisions[at], nil
	}
	for _, revision := range slices.Backward(revisions) {
		if !same(s.StatefulSet, revision, newest) {
			return revision, nil
		}
	}
	return nil, fmt.Errorf("no last revision to roll back to: %s has no revision of another template", s.title())
}

// same reports whether a set has the template and the inputs of a revision, without regard to its claims. newest are the inputs
// of the newest revision.
func same(set *slicesapi.StatefulSet, revision *appsv1.ControllerRevision, newest []inputs.Record) bool {
	alone := set.DeepCopy()
	alone.Spec.VolumeClaimUpdateStrategy = nil
	records, err := inputs.RecordsOf(revision)
	return err == nil && inputs.Encode(records) == inputs.Encode(newest) && history.Matches(alone, revision)
}

// replaceTemplate replaces the whole template and the inputs, unless the set has changed since it was read.
func (s *statefulSet) replaceTemplate(ctx context.Context, template corev1.PodTemplateSpec, restored []slicesapi.RevisionInput, opts *client.PatchOptions) error {
	changes := []map[string]any{
		{"op": "replace", "path": "/metadata/resourceVersion", "value": s.ResourceVersion},
		{"op": "replace", "path": "/spec/template", "value": template},
	}
	switch {
	case len(restored) > 0:
		changes = append(changes, map[string]any{"op": "add", "path": "/spec/revisionInputs", "value": restored})
	case len(s.Spec.RevisionInputs) > 0:
		changes = append(changes, map[string]any{"op": "remove", "path": "/spec/revisionInputs"})
	}
	return s.patch(ctx, types.JSONPatchType, changes, opts)
}

// warnApplied prints a warning if kubectl apply has recorded the manifest of a set, because that record keeps the newer
// template.
func (o *rolloutUndoOptions) warnApplied(s *statefulSet) {
	if _, found := s.Annotations[corev1.LastAppliedConfigAnnotation]; found {
		fmt.Fprintf(o.ErrOut, "Warning: %s was written with kubectl apply. The next apply of the same manifest brings the template back that you undo now: change it there, too\n", s.title())
	}
}

// warnClaims prints which claim templates keep their request instead of returning to that of the revision.
func (o *rolloutUndoOptions) warnClaims(s *statefulSet, revision *appsv1.ControllerRevision) {
	var sizes map[string]resource.Quantity
	if json.Unmarshal([]byte(revision.Annotations[history.ClaimsAnnotationKey]), &sizes) != nil {
		return // the revision has no recorded sizes, for example because apps/v1 created it
	}
	for i := range s.Spec.VolumeClaimTemplates {
		template := &s.Spec.VolumeClaimTemplates[i]
		now := template.Spec.Resources.Requests[corev1.ResourceStorage]
		if then, known := sizes[template.Name]; known && now.Cmp(then) != 0 {
			fmt.Fprintf(o.ErrOut, "%s: claim template %s requested %s in revision %d, and still requests %s: no volume can shrink\n",
				s.title(), template.Name, then.String(), revision.Revision, now.String())
		}
	}
}
