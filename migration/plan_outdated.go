package migration

import (
	"fmt"
	"strings"

	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
)

// catchUp says how the destination gets the change of the pod template that the source has
// got. One side goes after the other: a native controller replaces a pod without asking a
// PodDisruptionBudget, and of two at once each takes one down.
func (p *planner) catchUp() string {
	var steps []string
	from, to := p.Source, p.Destination
	if from.Set.rollsOut() {
		steps = append(steps, fmt.Sprintf("first wait until the roll-out in cluster %s is done: %s", from.Cluster, from.Set.rolloutStatus(from.Namespace)))
	}
	return strings.Join(append(steps,
		fmt.Sprintf("make the same change in cluster %s: kubectl edit %s -n %s %s", to.Cluster, to.Set.resource(), to.Namespace, to.Set.Name),
		"and wait until it is rolled out there: "+to.Set.rolloutStatus(to.Namespace),
		fmt.Sprintf("when it has the change in another form: kubectl annotate %s -n %s %s --overwrite %s=%s",
			to.Set.resource(), to.Namespace, to.Set.Name, api.TemplateAnnotationKey, p.Template.Hash),
	), "; ")
}
