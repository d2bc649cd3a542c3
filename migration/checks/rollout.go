package checks

import (
	"fmt"
	"strings"

	"github.com/sliceshift/sliceshift/migration/plan"
	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
)

// StaysBehind refuses while pods of a slice keep a former revision and nothing replaces them: as long as nobody ends that, no
// ordinal moves either way (I6).
func StaysBehind(s plan.Side) plan.Finding {
	patch := func(patch string) string {
		return s.Kubectl().Do("patch", s.Set.ResourceName(), "-n", s.Namespace, s.Set.Name, "--type=merge", "-p", patch)
	}
	var why string
	var ways []string
	switch s.Set.Rolls.Stays {
	case plan.StaysOnDelete:
		why = "its strategy OnDelete replaces no pod by itself"
		ways = []string{
			"have it go on: " + patch(`{"spec":{"updateStrategy":{"type":"RollingUpdate"}}}`),
			"delete the pods of the former revision, one after the other: " + s.Kubectl().Do("get", "pods", "-n", s.Namespace, "-L", "controller-revision-hash"),
		}
	case plan.StaysPartition:
		why = "its partition keeps pods at the former revision"
		ways = []string{
			"have it go on: " + patch(`{"spec":{"updateStrategy":{"rollingUpdate":{"partition":0}}}}`),
			"lower the partition step by step",
		}
	default:
		why = "its roll-out is paused"
		ways = []string{"have it go on: " + patch(`{"spec":{"paused":false,"updateStrategy":{"rollingUpdate":{"paused":false}}}}`)}
	}
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
