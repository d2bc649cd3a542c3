package main

import (
	"context"
	"errors"

	"github.com/spf13/cobra"
)

// planOptions are those of the verb plan.
type planOptions struct {
	moveOptions
	output   *choice
	exitCode bool
}

const planHelp = `Shows what a move would do, and what stands in its way, without writing anything.

Both clusters are read live; then the planner that also does the move is run over a
model of them, up to the end. Each numbered step is one write. SOURCE and DESTINATION
are the ordinals of both slices after it, PDB is how many evictions their
PodDisruptionBudgets allow (- in their author's form), and AVAILABLE is the fewest
replicas that are available in it. When a run has been interrupted, the rest of it is
planned.

Exit codes: 0 done, 3 the move would be refused. With --exit-code: 0 nothing to do,
1 steps are pending, above 1 an error.`

const planExamples = `  # To another cluster of the same kubeconfig
  migrate plan web -n shop --context east --to-context west

  # To another namespace of the same cluster, under another name
  migrate plan web -n shop --to-namespace store --to-name shop-web

  # The three highest ordinals only, to a cluster with other storage classes
  migrate plan web -n shop --to-kubeconfig west.yaml --count 3 --storage-class data=fast

  # In a pipeline: fail when anything is left to move
  migrate plan web -n shop --context east --to-context west --exit-code >/dev/null

  # For a program
  migrate plan web -n shop --context east --to-context west -o json | jq .summary`

func newPlan(c *common) *cobra.Command {
	o := &planOptions{moveOptions: moveOptions{common: c}, output: newChoice("table", "table", "wide", "json", "yaml")}
	cmd := c.command(o, &cobra.Command{
		Use:     "plan STATEFULSET",
		Short:   "Show each step of a move and what stands in its way; writes nothing",
		Long:    planHelp,
		Example: planExamples,
	})
	o.to.add(cmd.Flags())
	o.spec.add(cmd.Flags())
	cmd.Flags().VarP(o.output, "output", "o", "format of the output")
	cmd.Flags().BoolVar(&o.exitCode, "exit-code", false, "exit with 0 when nothing is to do, 1 when steps are pending, above 1 on an error")
	return cmd
}

// errPending is what plan --exit-code ends with when steps are pending. It is no
// failure.
var errPending = &exitError{code: 1, err: errors.New("steps are pending"), silent: true}

// Run plans and prints.
func (o *planOptions) Run(ctx context.Context) error {
	err := o.run(ctx)
	if o.exitCode {
		// 1 is taken: it says that steps are pending.
		err = withCode(exitUsage, err)
	}
	return err
}

func (o *planOptions) run(ctx context.Context) error {
	t, err := o.open(ctx, nil)
	if err != nil {
		return err
	}
	m, stands, err := t.resolve(ctx)
	if err != nil {
		return err
	}
	snapshot, err := t.look(ctx, m)
	if err != nil {
		return err
	}
	if stands == underway {
		if err := believe(t.store, m, snapshot); err != nil {
			return err
		}
	}
	document := newPlanDocument(m, stands, snapshot)
	if err := printAs(o.Out, o.output.value, document, planPrinter{out: o.Out, paint: o.paint(), wide: o.output.value == "wide"}.print); err != nil {
		return err
	}
	switch {
	case document.Refused:
		return refusedf("the move of StatefulSet %s/%s would be refused", o.namespace, o.set)
	case document.Stalled != nil:
		return refusedf("the move of StatefulSet %s/%s would stall", o.namespace, o.set)
	case o.exitCode && len(document.Steps) > 0:
		return errPending
	}
	return nil
}
