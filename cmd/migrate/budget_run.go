package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/sliceshift/sliceshift/internal/clusters"
	"github.com/sliceshift/sliceshift/internal/records"
	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
)

// budgetDocument is who has what of a split application's budget, for people and programs.
type budgetDocument struct {
	Before planSplit  `json:"before"`
	After  planSplit  `json:"after"`
	Steps  []planStep `json:"steps,omitempty"`

	plan *planDocument
}

func (o *budgetOptions) show(d budgetDocument) error {
	if !o.dryRun {
		return o.showText(d)
	}
	return printAs(o.Out, o.output.value, d, o.showText)
}

func (o *budgetOptions) showText(d budgetDocument) error {
	if o.dryRun {
		fmt.Fprintf(o.Out, "Now: %s\n\n", strings.Join(d.Before.text(), "\n  "))
	}
	if d.plan != nil && len(d.Steps) > 0 {
		if err := (planPrinter{out: o.Out, paint: o.paint(), wide: o.output.value == "wide"}).steps(*d.plan); err != nil {
			return err
		}
		fmt.Fprintln(o.Out)
	}
	_, err := fmt.Fprintf(o.Out, "Handed over: %s\n", strings.Join(d.After.text(), "\n  "))
	return err
}

// handOver brings the budget of a finished run to the side that it is asked for, from here.
func (o *budgetOptions) handOver(ctx context.Context, k *kept) error {
	writes := &brake{}
	t, err := o.reconnect(ctx, k, writes)
	if err != nil {
		return err
	}
	m := k.DeepCopy()
	m.Spec.SplitBudget = splitBudgets[o.to.value]
	snapshot, err := t.look(ctx, m)
	if err != nil {
		return err
	}
	plan := newPlanDocument(m, over, snapshot)
	switch {
	case plan.Stalled != nil:
		return refusedf("the budget cannot be handed over: %s: %s", plan.Stalled.Reason, plan.Stalled.Message)
	case plan.Split == nil:
		return refusedf("%s: the application is not split any more", k.title())
	}
	d := budgetDocument{Before: *plan.Split, After: o.asked(*plan.Split), Steps: plan.Steps, plan: &plan}
	d.Before.Budget, d.After.Budget = m.Status.Baseline.Budget, m.Status.Baseline.Budget
	if len(d.Steps) == 0 && !d.After.isAs(d.Before) {
		return refusedf("%s: the PodDisruptionBudgets are not as this move has left them, or another one has begun since: that one hands them over", k.title())
	}
	if o.dryRun {
		return o.show(d)
	}
	if err := k.change(ctx, records.Change{SplitBudget: m.Spec.SplitBudget}); err != nil {
		return err
	}
	shown := newDisplay(o.common, "text", false)
	err = driver{common: o.common, task: t, narrator: newNarrator(o.clock.Now(), m), display: shown, writes: writes, mode: m.Spec.Mode}.drive(ctx)
	shown.close()
	if err != nil {
		return err
	}
	d.plan = nil // what was written has been shown
	return o.show(d)
}

// reconnect opens both clusters of a run that is recorded.
func (o *budgetOptions) reconnect(ctx context.Context, k *kept, writes *brake) (*task, error) {
	from, err := o.source()
	if err != nil {
		return nil, err
	}
	t := &task{program: o.program}
	if t.source, err = from.connect(writes.wrap); err != nil {
		return nil, err
	}
	t.destination = t.source
	base := k.Status.Baseline
	if base.SourceCluster != base.DestinationCluster {
		reach := o.reach
		if reach == (destinationFlags{}) {
			reach.context = k.Annotations[records.DestinationNameAnnotationKey]
		}
		if t.destination, err = o.otherCluster(ctx, reach, writes, string(base.DestinationCluster)); err != nil {
			return nil, err
		}
	}
	t.store = records.ConfigMap{Client: t.source.Live(), Namespace: k.Namespace, Name: k.Name}
	return t, nil
}

func (o *budgetOptions) otherCluster(ctx context.Context, reach destinationFlags, writes *brake, want string) (*clusters.Connection, error) {
	to, err := reach.place(o.common)
	if err != nil {
		return nil, err
	}
	connection, err := to.connect(writes.wrap)
	if err != nil {
		return nil, err
	}
	id, err := connection.ID(ctx)
	switch {
	case err != nil:
		return nil, unreachable(connection.Name(), err)
	case string(id) != want:
		return nil, fmt.Errorf("cluster %s is not the destination of the move: the UID of its namespace kube-system is %s instead of %s; give --to-context or --to-kubeconfig", connection.Name(), id, want)
	}
	return connection, nil
}

// await waits until the status says that the budget is handed over.
func (o *budgetOptions) await(ctx context.Context, k *kept, after planSplit) error {
	return k.follow(ctx, o.clock, func(m *api.Migration) (bool, error) {
		if splittable(&kept{Migration: m}) != nil {
			return false, refusedf("%s: the application is not split any more", k.title())
		}
		return after.isAs(recordedSplit(m)), nil
	})
}

// clusterOf is the cluster of a slice: what comes before its namespace.
func clusterOf(s *api.SliceStatus) string {
	slice, _, _ := strings.Cut(s.Slice, " ")
	words := strings.Split(slice, "/")
	const after = 2 // the namespace and the name
	return strings.Join(words[:max(0, len(words)-after)], "/")
}
