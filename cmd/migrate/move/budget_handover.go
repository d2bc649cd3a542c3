package move

import (
	"context"
	"fmt"
	"strings"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/cmd/migrate/command"
	"github.com/sliceshift/sliceshift/cmd/migrate/move/drain"
	"github.com/sliceshift/sliceshift/cmd/migrate/move/flags"
	"github.com/sliceshift/sliceshift/cmd/migrate/move/preview"
	"github.com/sliceshift/sliceshift/cmd/migrate/move/progress"
	"github.com/sliceshift/sliceshift/cmd/migrate/terminal"
	"github.com/sliceshift/sliceshift/internal/records"
)

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
		if err := (preview.Printer{Out: o.Out, Paint: o.Paint(), Wide: o.output.Value == "wide"}).Steps(*d.plan); err != nil {
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
