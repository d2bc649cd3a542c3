package plan

import (
	"fmt"

	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/pdb"
)

// Record is what was written down because it cannot be observed again.
type Record struct {
	Baseline *api.Baseline
	Fence    *api.Fence
	Handoff  *api.Handoff
	// Hooks are the runs of hooks in the present direction that must not be forgotten.
	Hooks []api.HookRun
	// HookTurns is how often a migration with hooks has turned, or begun anew.
	HookTurns int32
	// Accepted is true once the preflight has passed.
	Accepted bool
	// Completed is the reason of the condition Completed when it is True.
	Completed string
	// Given is how many ordinals the destination owned when that was last written; nil: it was
	// not written yet. Only of a destination that is lost is it asked.
	Given *int32
}

// Unbelievable says why a record is not the one of the migration that it is read for; empty:
// nothing speaks against it. Where a record is kept that others may write, as the ConfigMap
// of a run, it may be forged: what it says of the source and of the clusters is compared with
// what was seen, and its disruption budget with what the PodDisruptionBudgets allow (I4).
func Unbelievable(s Snapshot) string {
	base, source := s.Record.Baseline, s.Source.Set
	allowed, err := recordable(s)
	switch {
	case base == nil:
		return ""
	case base.SourceCluster != s.Source.ClusterID:
		return fmt.Sprintf("it is of a source in the cluster whose namespace kube-system has the UID %s, and cluster %s has %s", base.SourceCluster, s.Source.Cluster, s.Source.ClusterID)
	case base.DestinationCluster != s.Destination.ClusterID:
		return fmt.Sprintf("it is of a destination in the cluster whose namespace kube-system has the UID %s, and cluster %s has %s", base.DestinationCluster, s.Destination.Cluster, s.Destination.ClusterID)
	case source.Presence == Seen && source.UID != base.SourceUID:
		return fmt.Sprintf("it is of a StatefulSet with the UID %s, and %s has %s", base.SourceUID, s.Source.object(), source.UID)
	case s.Unbounded() != nil:
		return s.Unbounded().Message
	case err != nil:
		return err.Error()
	case base.Budget > allowed:
		return fmt.Sprintf("it says that %d replicas may be unavailable, and no more than %d may", base.Budget, allowed)
	}
	return ""
}

// recordable is the largest disruption budget that a record may have: see budget, which is
// where it came from.
func recordable(s Snapshot) (int32, error) {
	base := s.Record.Baseline
	if base == nil {
		return 0, nil
	}
	var forms []pdb.Form
	for _, side := range []Side{s.Source, s.Destination} {
		for _, b := range side.Budgets {
			forms = append(forms, b.AuthorForm())
		}
	}
	if s.Spec.MaxUnavailable != nil {
		forms = append(forms, pdb.Form{MaxUnavailable: s.Spec.MaxUnavailable})
	}
	if len(forms) == 0 {
		return 1, nil // as without any: what the record itself says of one may be forged, too
	}
	allowed := base.Replicas
	for _, form := range forms {
		n, err := pdb.Budget(form, base.Replicas)
		if err != nil {
			return 0, err
		}
		allowed = min(allowed, n)
	}
	return allowed, nil
}
