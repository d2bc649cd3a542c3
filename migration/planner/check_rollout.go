package planner

import (
	"fmt"
	"strings"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/plan"
)

// StaysBehind refuses a move while pods of a slice have a former revision and are not replaced. No ordinal moves in
// either direction until a user changes that (I6).
func StaysBehind(s plan.Side) plan.Finding {
	why, patch := "its roll-out is paused", `{"spec":{"paused":false,"updateStrategy":{"rollingUpdate":{"paused":false}}}}`
	var more []string
	switch s.Set.Rolls.Stays {
	case plan.StaysOnDelete:
		why, patch = "its strategy OnDelete replaces no pod", `{"spec":{"updateStrategy":{"type":"RollingUpdate"}}}`
		more = []string{"delete the pods of the former revision, one after the other: " + s.Kubectl().Do("get", "pods", "-n", s.Namespace, "-L", "controller-revision-hash")}
	case plan.StaysPartition:
		why, patch = "its partition keeps pods at the former revision", `{"spec":{"updateStrategy":{"rollingUpdate":{"partition":0}}}}`
		more = []string{"lower the partition step by step"}
	case plan.StaysFailed:
		why, patch = "that revision has failed, so that its pods keep the former one", `{"spec":{"updateStrategy":{"rollingUpdate":{"onFailure":"Halt"}}}}`
		if s.Set.Rolls.AllAtOnce {
			patch = `{"spec":{"updateStrategy":{"recreate":{"onFailure":"Halt"}}}}`
		}
		more = []string{"correct its pod template: its condition Stalled names the pod that was late"}
	case plan.StaysPaused:
	}
	ways := append([]string{"let the roll-out continue: " + s.Kubectl().Do("patch", s.Set.ResourceName(), "-n", s.Namespace, s.Set.Name, "--type=merge", "-p", patch)}, more...)
	back := "take the change back"
	if undo := s.RolloutUndo(); undo != "" {
		back += ": " + undo
	}
	return plan.Finding{
		Reason: api.ReasonRolloutInProgress, Object: s.Object(),
		Message: fmt.Sprintf("%s was changed, and %s: the roll-out does not end, and which revision an ordinal gets would change as the slice moves", s.Object(), why),
		Remedy:  strings.Join(append(ways, back), "; or "),
	}
}
