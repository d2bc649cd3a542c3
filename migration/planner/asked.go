package planner

import (
	"fmt"
	"strings"

	"github.com/sliceshift/sliceshift/migration/plan"
	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
)

// askedAnew holds while volumes are asked to move otherwise than they do: the next ordinal would go another way than its
// user expects. Those that are on their way, or go back, go as the migration was accepted.
func (p gatePlanner) askedAnew() *plan.Hold {
	if p.direction() == api.Back {
		return nil
	}
	var changed, back []string
	for _, was := range p.Record.Baseline.Volumes {
		now := api.AskedOf(p.Spec.Volumes, was.ClaimTemplate)
		if now.SameWay(was) {
			continue
		}
		changed = append(changed, fmt.Sprintf("claim template %s moves by %s, and %s is asked for", was.ClaimTemplate, way(was), way(now)))
		back = append(back, fmt.Sprintf("for claim template %s have %s again", was.ClaimTemplate, way(was)))
	}
	if len(changed) == 0 {
		return nil
	}
	return &plan.Hold{
		Reason:  api.ReasonVolumesChanged,
		Message: "spec.volumes was changed in mid-move: " + strings.Join(changed, "; ") + "; ordinals that have moved have their data where the former way has put them",
		Remedy: fmt.Sprintf("in spec.volumes, or by --volume and --storage-class, %s; to move otherwise take the move back first: %s, and when it is back change them and run it again",
			strings.Join(back, ", "), p.command("rollback")),
		Stalled: true,
	}
}

// way is how the volumes of a claim template move, for people.
func way(v api.VolumeSpec) string {
	if v.StorageClassName == nil {
		return fmt.Sprintf("method %s with the source's storage class", v.Method)
	}
	return fmt.Sprintf("method %s with storage class %q", v.Method, *v.StorageClassName)
}
