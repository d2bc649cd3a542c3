package engine

import (
	"context"

	corev1 "k8s.io/api/core/v1"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/outlook"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/migration/planner"
	"github.com/sliceshift/sliceshift/migration/preflight"
	"github.com/sliceshift/sliceshift/volumes"
)

// Outlook observes the StatefulSet of a migration in place, and returns what the migration will do. It writes nothing.
func (e *Engine) Outlook(ctx context.Context, m *api.Migration) (outlook.Plan, error) {
	snapshot, err := e.Look(ctx, m)
	if err != nil {
		return outlook.Plan{}, err
	}
	var findings []plan.Finding
	budget := int32(0)
	if base := m.Status.Baseline; base != nil {
		budget = base.Budget
	} else {
		snapshot.Record.Fence = nil // an epoch of an earlier migration belongs to no other process
		findings = preflight.Findings(snapshot)
		budget, _ = planner.Allowance(snapshot)
	}
	switch {
	case snapshot.Source.Reach == plan.Seen:
	case len(findings) > 0:
		return e.clusters.inspector.NoOutlook(findings), nil // a right is missing
	default:
		return outlook.Plan{}, &UnreadError{Cluster: snapshot.Source.Cluster, Text: snapshot.Source.ReachError}
	}
	p, err := e.clusters.inspector.Outlook(ctx, m, budget, findings)
	if err == nil && !p.Pending() && p.Summary.Replicas > 0 {
		// The plan states that nothing is left to do. No ordinal is on its old volumes, which a budget would be for.
		return p.Without(api.ReasonNothingToMove, api.ReasonBudgetZero, volumes.ReasonUnknownMethod), nil
	}
	return p, err
}

// UnreadError is the error of a cluster that cannot be read.
type UnreadError struct{ Cluster, Text string }

// Error implements error.
func (e *UnreadError) Error() string { return "cluster " + e.Cluster + " cannot be read: " + e.Text }

// ChooseInPlace returns the volumes of a migration in place with a method each, as its claims need it. manifest has the wanted
// claim templates, if a user has given them.
func (e *Engine) ChooseInPlace(ctx context.Context, m *api.Migration, manifest []corev1.PersistentVolumeClaim) ([]api.VolumeSpec, error) {
	return e.clusters.inspector.Chosen(ctx, m, manifest)
}
