package planner

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/plan"
)

// Leftovers returns findings about objects that another migration has left on a side. An ordinal that no slice owns,
// and whose volume was being filled, is down: the move is refused. Other leftovers are warnings, because this move
// deletes only its own objects.
func Leftovers(s plan.Snapshot, name plan.SideName, left []plan.Leftover) []plan.Finding {
	side := *s.Side(name)
	type life struct {
		by      types.UID
		ordinal int32
	}
	var lives []life
	objects := map[life][]plan.Leftover{}
	for _, object := range left {
		owned := s.Source.Set.Has(object.Ordinal) || s.Destination.Set.Has(object.Ordinal)
		if object.By == s.UID || object.By == "" || owned && !object.Filling {
			continue
		}
		of := life{object.By, object.Ordinal}
		if objects[of] == nil {
			lives = append(lives, of)
		}
		objects[of] = append(objects[of], object)
	}
	var findings []plan.Finding
	for _, of := range lives {
		findings = append(findings, leftBy(s, side, of.by, objects[of]))
	}
	return findings
}

// leftBy returns the finding about all objects that a migration has left for one ordinal of a side.
func leftBy(s plan.Snapshot, side plan.Side, by types.UID, left []plan.Leftover) plan.Finding {
	names := make([]string, 0, len(left))
	for _, object := range left {
		names = append(names, object.Resource+" "+object.Name)
	}
	ordinal := left[0].Ordinal
	what := fmt.Sprintf("the migration with UID %s has left %s in cluster %s", by, plan.Listed(names), side.Cluster)
	filling := slices.IndexFunc(left, func(object plan.Leftover) bool { return object.Filling })
	if filling >= 0 && !s.Source.Set.Has(ordinal) && !s.Destination.Set.Has(ordinal) {
		return Stranded{Ordinal: ordinal, By: by, What: what, side: side, object: located(side, left[filling])}.refused(s.Source)
	}
	return plan.Finding{
		Reason: api.ReasonLeftByAnother, Object: side.Object(), Warning: true,
		Message: fmt.Sprintf("%s, for ordinal %d: this move does not remove them, and a pod among them may still write its own volume", what, ordinal),
		Remedy: fmt.Sprintf("check whether that migration still runs: %s. If its record is lost, rebuild it, and complete the migration: %s",
			side.Kubectl().Do("describe", located(side, left[0])...), Rebuilds(s.Source, by)),
	}
}

// located returns the arguments with which kubectl finds an object.
func located(side plan.Side, object plan.Leftover) []string {
	if object.Global {
		return []string{object.Resource, object.Name}
	}
	return []string{object.Resource, "-n", side.Namespace, object.Name}
}

// LeftBudgets warns of a PodDisruptionBudget that another migration has left at its share although one side has all
// replicas. This move uses the author's form that the other migration recorded.
func LeftBudgets(s plan.Snapshot, name plan.SideName, budget plan.Budget, by types.UID) []plan.Finding {
	split := s.Source.Set.Replicas > 0 && s.Destination.Set.Replicas > 0
	if split || by == "" || by == s.UID || budget.Form.Equal(budget.AuthorForm()) {
		return nil
	}
	side := *s.Side(name)
	return []plan.Finding{{
		Reason: api.ReasonLeftByAnother, Object: side.BudgetNamed(budget.Name), Warning: true,
		Message: fmt.Sprintf("%s has the share %s of the migration with UID %s, and its annotation has the original %s: this move uses the annotation, and restores it at the end",
			side.BudgetNamed(budget.Name), budget.Form, by, budget.AuthorForm()),
		Remedy: "correct the budget and its annotation: " + side.Kubectl().Do("edit", "pdb", "-n", side.Namespace, budget.Name),
	}}
}
