package move

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/cmd/migrate/command"
	"github.com/sliceshift/sliceshift/cmd/migrate/move/drain"
	"github.com/sliceshift/sliceshift/cmd/migrate/move/flags"
	"github.com/sliceshift/sliceshift/cmd/migrate/move/preview"
	"github.com/sliceshift/sliceshift/cmd/migrate/move/progress"
	"github.com/sliceshift/sliceshift/cmd/migrate/terminal"
	"github.com/sliceshift/sliceshift/internal/records"
	"github.com/sliceshift/sliceshift/migration/planner"
	"github.com/sliceshift/sliceshift/pdb"
)

// budgetOptions are the options of the command budget.
type budgetOptions struct {
	dryRunnable
	// reach selects the destination's cluster; its other fields are not used.
	reach flags.Destination
	to    *command.Choice
}

// splitBudgets maps the words of --to.
var splitBudgets = map[string]api.SplitBudget{"both": api.SplitBudgetProportional, "source": api.SplitBudgetSource, "destination": api.SplitBudgetDestination}

const budgetHelp = `Sets which side of a split application has its disruption budget: how many of its
replicas may be unavailable at once, and so what kubectl drain may do there. Both sides
together never have more than the whole. One side shrinks first; the other grows when the
disruption controller has confirmed that and no replica is down.

It works at any time after a move of some ordinals (--count), and in a pause. For a move
with "run" this command does it; for a Migration its manager does it.

Exit codes: 0 done, 1 error, 2 usage, 3 refused or stalled, 4 timeout.`

const budgetExamples = `  # Before maintenance of the destination's nodes; afterwards give both sides their part
  migrate budget web -n shop --context east --to destination
  migrate budget web -n shop --context east --to both

  # The budgets now, and what would be written; writes nothing
  migrate budget web -n shop --context east --to source --dry-run`

func newBudget(c *command.Common) *cobra.Command {
	o := &budgetOptions{dryRunnable: newDryRunnable(c), to: command.NewChoice("", "source", "destination", "both")}
	cmd := c.Command(o, &cobra.Command{
		Use: "budget NAME", Short: "Set which side of a split application has its disruption budget",
		Long: budgetHelp, Example: budgetExamples,
	})
	flags := cmd.Flags()
	flags.Var(o.to, "to", "side that gets the disruption budget; both: in proportion to the slices' sizes")
	flags.StringVar(&o.reach.Kubeconfig, "to-kubeconfig", "", "kubeconfig file of the destination's cluster (default: the source's)")
	flags.StringVar(&o.reach.Context, "to-context", "", "context of the destination's cluster (default: the one of the move)")
	flags.BoolVar(&o.dryRun, "dry-run", false, "show the budgets and each step; write nothing")
	flags.VarP(o.output, "output", "o", "format of the dry run")
	flags.BoolVar(&o.wait, "wait", false, "of a Migration: wait until the budget is handed over")
	flags.DurationVar(&o.timeout, "timeout", 0, "give up after this time (default: never)")
	return cmd
}

// Validate rejects invalid combinations of flags.
func (o *budgetOptions) Validate() error {
	if o.to.Value == "" {
		return command.Usagef("--to must name the side that gets the budget: source, destination or both")
	}
	return o.dryRunnable.Validate()
}

// Run hands the budget over.
func (o *budgetOptions) Run(ctx context.Context) error {
	return command.Within(ctx, o.timeout, o.run)
}

func (o *budgetOptions) run(ctx context.Context) error {
	k, err := o.find(ctx)
	if err != nil {
		return err
	}
	if err := splittable(k); err != nil {
		return err
	}
	if k.record && records.Completed(k.Migration) == api.ReasonMoved {
		return o.handOver(ctx, k)
	}
	now := recordedSplit(k.Migration)
	after := o.requested(now)
	if o.dryRun {
		return o.show(budgetDocument{Before: now, After: after})
	}
	if err := k.change(ctx, records.Change{SplitBudget: splitBudgets[o.to.Value]}); err != nil {
		return err
	}
	if o.wait {
		if err := o.await(ctx, k, after); err != nil {
			return err
		}
		return o.show(budgetDocument{After: after})
	}
	by := "its manager hands the budget over"
	if k.record {
		by = "the process that runs it hands the budget over, in a pause or at the end"
	}
	_, err = fmt.Fprintf(o.Out, "%s: %s\n", k.title(), by)
	return err
}

// splittable returns an error if, according to the record, there is no budget to hand over.
func splittable(k *storedMigration) error {
	m := k.Migration
	base, from, to := m.Status.Baseline, m.Status.Source, m.Status.Destination
	sameNamespace := base != nil && base.SourceCluster == base.DestinationCluster && cmp.Or(m.Spec.Source.Namespace, m.Namespace) == cmp.Or(m.Spec.Destination.Namespace, m.Namespace)
	switch {
	case base == nil:
		return command.Refusedf("%s has not begun: the application is not split", k.title())
	case base.DisruptionBudget == nil:
		return command.Refusedf("%s: the application has no PodDisruptionBudget, so there is nothing to hand over: no budget bounds evictions, on both sides", k.title())
	case sameNamespace:
		return command.Refusedf("%s: both slices are in one namespace, and one PodDisruptionBudget covers both", k.title())
	case from == nil || to == nil || from.Replicas == 0 || to.Replicas == 0:
		return command.Refusedf("%s: the application is not split: one side owns all its ordinals, and has its whole budget", k.title())
	}
	return nil
}

// recordedSplit returns the split of the budget in the status of a migration.
func recordedSplit(m *api.Migration) preview.Split {
	share := func(s *api.SliceStatus) preview.Share {
		return preview.Share{Cluster: clusterOf(s), Start: s.Start, Replicas: s.Replicas, MaxUnavailable: s.MaxUnavailable}
	}
	from, to := share(m.Status.Source), share(m.Status.Destination)
	return preview.Split{Start: min(from.Start, to.Start), Replicas: from.Replicas + to.Replicas, Budget: m.Status.Baseline.Budget, Source: from, Destination: to}
}

// requested returns the split after the budget is handed over.
func (o *budgetOptions) requested(now preview.Split) preview.Split {
	want := planner.SplitShare(splitBudgets[o.to.Value], now.Budget, pdb.Share{Source: now.Source.Replicas, Destination: now.Destination.Replicas})
	after := now
	after.Source.MaxUnavailable, after.Destination.MaxUnavailable = &want.Source, &want.Destination
	return after
}

// budgetDocument describes the split of an application's budget, as text and as JSON.
type budgetDocument struct {
	Before preview.Split  `json:"before"`
	After  preview.Split  `json:"after"`
	Steps  []preview.Step `json:"steps,omitempty"`

	plan *preview.Plan
}

func (o *budgetOptions) show(d budgetDocument) error {
	if !o.dryRun {
		return o.showText(d)
	}
	return terminal.Print(o.Out, o.output.Value, d, o.showText)
}

func (o *budgetOptions) showText(d budgetDocument) error {
	if o.dryRun {
		fmt.Fprintf(o.Out, "Now: %s\n\n", strings.Join(d.Before.Text(), "\n  "))
	}
	if d.plan != nil && len(d.Steps) > 0 {
		if err := o.printer().Steps(*d.plan); err != nil {
			return err
		}
		fmt.Fprintln(o.Out)
	}
	_, err := fmt.Fprintf(o.Out, "Handed over: %s\n", strings.Join(d.After.Text(), "\n  "))
	return err
}

// handOver writes, from this process, the budgets of a finished run so that the requested side has its share.
func (o *budgetOptions) handOver(ctx context.Context, k *storedMigration) error {
	writes := &drain.Writes{}
	t, err := o.reconnect(ctx, k, writes)
	if err != nil {
		return err
	}
	m := k.DeepCopy()
	m.Spec.SplitBudget = splitBudgets[o.to.Value]
	snapshot, err := t.observe(ctx, m)
	if err != nil {
		return err
	}
	plan := preview.NewPlan(m, preview.Over, snapshot)
	switch {
	case plan.Stalled != nil:
		return command.Refusedf("the budget cannot be handed over: %s: %s", plan.Stalled.Reason, plan.Stalled.Message)
	case plan.Split == nil:
		return command.Refusedf("%s: the application is not split any more", k.title())
	}
	d := budgetDocument{Before: *plan.Split, After: o.requested(*plan.Split), Steps: plan.Steps, plan: &plan}
	d.Before.Budget, d.After.Budget = m.Status.Baseline.Budget, m.Status.Baseline.Budget
	if len(d.Steps) == 0 && !d.After.Equal(d.Before) {
		return command.Refusedf("%s: the PodDisruptionBudgets have changed since this move, or another move has begun since: that one hands them over", k.title())
	}
	if o.dryRun {
		return o.show(d)
	}
	if err := k.change(ctx, records.Change{SplitBudget: m.Spec.SplitBudget}); err != nil {
		return err
	}
	shown := progress.NewDisplay(o.Common, progress.Format{Verbose: true}, progress.Steering{Interrupt: o.Interrupt})
	err = driver{Common: o.Common, task: t, tracker: progress.NewTracker(o.Clock.Now(), m), display: shown, writes: writes, mode: m.Spec.Mode}.drive(ctx)
	shown.Close()
	if err != nil {
		return err
	}
	d.plan = nil // the changes have been shown
	return o.show(d)
}

// reconnect connects to both clusters of a recorded run.
func (o *budgetOptions) reconnect(ctx context.Context, k *storedMigration, writes *drain.Writes) (*task, error) {
	from, err := o.Source()
	if err != nil {
		return nil, err
	}
	t := &task{}
	if t.source, err = from.Connect(writes.Wrap); err != nil {
		return nil, err
	}
	t.destination = t.source
	base := k.Status.Baseline
	if base.SourceCluster != base.DestinationCluster {
		reach := o.reach
		if reach == (flags.Destination{}) {
			reach.Context = k.Annotations[records.DestinationNameAnnotationKey]
		}
		to, err := reach.Endpoint(o.Common)
		if err != nil {
			return nil, err
		}
		if t.destination, err = to.Connect(writes.Wrap); err != nil {
			return nil, err
		}
		if err := command.Verify(ctx, t.destination, base.DestinationCluster, "the destination of the move", "--to-context or --to-kubeconfig"); err != nil {
			return nil, err
		}
	}
	t.store = records.ConfigMap{Client: t.source.Live(), Namespace: k.Namespace, Name: k.Name}
	return t, nil
}

// await waits until the status shows the new split.
func (o *budgetOptions) await(ctx context.Context, k *storedMigration, after preview.Split) error {
	return k.follow(ctx, o.Clock, func(m *api.Migration) (bool, error) {
		if splittable(&storedMigration{Migration: m}) != nil {
			return false, command.Refusedf("%s: the application is not split any more", k.title())
		}
		return after.Equal(recordedSplit(m)), nil
	})
}

// clusterOf returns the cluster of a slice, which is the part before its namespace.
func clusterOf(s *api.SliceStatus) string {
	slice, _, _ := strings.Cut(s.Slice, " ")
	words := strings.Split(slice, "/")
	const after = 2 // the namespace and the name
	return strings.Join(words[:max(0, len(words)-after)], "/")
}
