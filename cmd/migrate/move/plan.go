package move

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sliceshift/sliceshift/cmd/migrate/command"
	"github.com/sliceshift/sliceshift/cmd/migrate/move/preview"
	"github.com/sliceshift/sliceshift/cmd/migrate/terminal"
	"github.com/sliceshift/sliceshift/internal/records"
	"github.com/sliceshift/sliceshift/migration/rehearsal"
	"github.com/sliceshift/sliceshift/migration/report/chart"
	"github.com/sliceshift/sliceshift/migration/stage"
)

// planOptions are the options of the command plan.
type planOptions struct {
	moveOptions
	output   *command.Choice
	diff     bool
	exitCode bool
}

const planHelp = `Shows what a move would do, and what stands in its way, without writing anything.

Both clusters are read live; then the planner that also does the move is run over a
model of them, up to the end. Each number is one write. The first handoff is shown in
full and the others, which are like it, in one line each; -o wide shows every write, and
of each claim template by which other methods it could move.
SOURCE and DESTINATION are the ordinals of the two slices after it, PDB is how many
evictions their PodDisruptionBudgets allow (- in their author's form), and AVAILABLE is
the fewest replicas that are available in it. When a run has been interrupted, the rest
of it is planned.

With --diff it shows the objects that will have changed in the end. With -o html it prints
one file with a timeline, for other people; -o svg is the timeline.

Exit codes: 0 done, 3 the move would be refused. With --exit-code: 0 nothing to do,
1 steps are pending, above 1 an error.`

const planExamples = `  # To another cluster of the same kubeconfig
  migrate plan web -n shop --context east --to-context west

  # To another namespace of the same cluster, under another name
  migrate plan web -n shop --to-namespace store --to-name shop-web

  # The three highest ordinals only, to a cluster with other storage classes
  migrate plan web -n shop --to-kubeconfig west.yaml --count 3 --storage-class data=fast

  # The storage of the StatefulSet itself: another class and a smaller size
  migrate plan web -n shop --context east --in-place --volume data=class=fast,size=512Mi,image=IMAGE

  # Every write, and its object; or how the objects change
  migrate plan web -n shop --context east --to-context west -o wide
  migrate plan web -n shop --context east --to-context west --diff

  # For other people
  migrate plan web -n shop --context east --to-context west -o html >plan.html

  # In a pipeline: fail when anything is left to move
  migrate plan web -n shop --context east --to-context west --exit-code >/dev/null

  # For a program
  migrate plan web -n shop --context east --to-context west -o json | jq .summary`

func newPlan(c *command.Common) *cobra.Command {
	o := &planOptions{moveOptions: moveOptions{Common: c}}
	cmd := c.Command(o, &cobra.Command{
		Use: "plan STATEFULSET", Short: "Show each step of a move and what stands in its way; writes nothing",
		Long: planHelp, Example: planExamples,
	})
	o.to.Add(cmd.Flags())
	o.spec.Add(cmd.Flags())
	o.output = command.AddOutput(cmd, "table", "wide", "json", "yaml", "html", "svg")
	cmd.Flags().BoolVar(&o.diff, "diff", false, "show the objects that will have changed in the end, as a diff")
	cmd.Flags().BoolVar(&o.exitCode, "exit-code", false, "exit with 0 when there is nothing to do, 1 when steps are pending, above 1 on an error")
	return cmd
}

// errPending is the result of plan --exit-code if steps are pending. It is not a failure.
var errPending = &command.ExitError{Code: 1, Err: errors.New("steps are pending"), Silent: true}

// Validate rejects invalid combinations of flags.
func (o *planOptions) Validate() error {
	if o.diff && o.output.Value != "table" {
		return command.Usagef("--diff and -o %s exclude each other", o.output.Value)
	}
	return o.moveOptions.Validate()
}

// Run plans and prints.
func (o *planOptions) Run(ctx context.Context) error {
	err := o.run(ctx)
	if o.exitCode {
		// Exit code 1 means that steps are pending.
		err = command.WithCode(command.ExitUsage, err)
	}
	return err
}

func (o *planOptions) run(ctx context.Context) error {
	if o.inPlace() {
		return o.planInPlace(ctx)
	}
	t, m, stands, err := o.begin(ctx, nil)
	if err != nil {
		return err
	}
	snapshot, err := t.observe(ctx, m)
	if err != nil {
		return err
	}
	if stands == preview.Underway {
		if err := verify(t.store, m, snapshot); err != nil {
			return err
		}
	}
	document := preview.NewPlan(m, stands, snapshot)
	if known := o.rehearsed(ctx, t); known != nil {
		document.Rehearsed(known.Outage())
	}
	if err := o.show(document, func() preview.Changes { return preview.NewChanges(m, snapshot) }); err != nil {
		return err
	}
	switch {
	case document.Refused:
		return command.Refusedf("the move of StatefulSet %s/%s would be refused", o.namespace, o.set)
	case document.Stalled != nil:
		return command.Refusedf("the move of StatefulSet %s/%s would stall", o.namespace, o.set)
	case o.exitCode && len(document.Steps) > 0:
		return errPending
	}
	return nil
}

// rehearsed returns the last result of a rehearsal of this move; nil if there is none.
func (o *planOptions) rehearsed(ctx context.Context, t *task) *rehearsal.Result {
	store := &stage.Store{Client: t.source.Live(), Namespace: o.namespace, Set: o.set}
	record, err := store.Load(ctx)
	if err != nil {
		fmt.Fprintf(o.ErrOut, "cluster %s: whether the move was rehearsed is not known: %v\n", t.source.Name(), err)
	}
	if record == nil {
		return nil
	}
	to := o.requested.Spec.Destination
	known := record.Known()
	if known == nil || !known.Of(types.UID(o.requested.Annotations[records.DestinationAnnotationKey]), to.Namespace, to.Name) {
		return nil
	}
	return known
}

// show prints the plan in the requested format.
func (o *planOptions) show(d preview.Plan, changes func() preview.Changes) error {
	printer := preview.Printer{Out: o.Out, Paint: o.Paint(), Wide: o.output.Value == "wide"}
	switch {
	case o.output.Value == "html":
		return printPage(o.Out, d.Page())
	case o.output.Value == "svg" && !d.Refused && len(d.Steps) > 0:
		image, err := chart.SVG(d.Chart())
		if err != nil {
			return err
		}
		_, err = io.WriteString(o.Out, string(image))
		return err
	case o.output.Value == "svg":
		printer.Out = o.ErrOut // there is no drawing, and the text states why
		return printer.Print(d)
	case o.diff && !d.Refused:
		return printer.Diff(changes())
	}
	return terminal.Print(o.Out, o.output.Value, d, printer.Print)
}
