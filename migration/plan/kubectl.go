package plan

import (
	"cmp"

	"github.com/sliceshift/sliceshift/internal/shell"
)

// Kubectl builds commands for one cluster; flags select the cluster. Without flags, as in a manager, a text names
// the cluster before each command.
func Kubectl(cluster, flags string) shell.Kubectl {
	return shell.Kubectl{Cluster: cluster, Flags: flags}
}

// Kubectl builds commands for the side's cluster.
func (s Side) Kubectl() shell.Kubectl { return Kubectl(s.Cluster, s.Flags) }

// RolloutUndo returns the command that undoes the last change of the side's pod template; empty: its kind has
// none.
func (s Side) RolloutUndo() string { return s.rollout("undo") }

// RolloutStatus returns the command that shows a rollout of the side's StatefulSet. kubectl supports only its own
// kinds.
func (s Side) RolloutStatus() string {
	return cmp.Or(s.rollout("status"), s.Kubectl().Do("get", s.Set.ResourceName(), "-n", s.Namespace, s.Set.Name, "--watch"))
}

// rollout returns a rollout command for the side's StatefulSet; empty: its kind has none.
func (s Side) rollout(verb string) string {
	switch s.Set.ResourceName() {
	case NativeResource:
		return s.Kubectl().Do("rollout", verb, "-n", s.Namespace, "sts/"+s.Set.Name)
	case SliceResource:
		return s.Kubectl().Migrate("rollout", verb, "-n", s.Namespace, s.Set.Name)
	default:
		return ""
	}
}
