package plan

import (
	"cmp"

	"github.com/sliceshift/sliceshift/internal/shell"
)

// Kubectl builds commands for one cluster, by the flags that lead kubectl there. Where none are known, as in a manager, the cluster is
// named in words before each command.
func Kubectl(cluster, flags string) shell.Kubectl {
	return shell.Kubectl{Cluster: cluster, Flags: flags}
}

// Kubectl builds commands for the cluster of the side.
func (s Side) Kubectl() shell.Kubectl { return Kubectl(s.Cluster, s.Flags) }

// RolloutUndo is the command that takes back the last change of its pod template; empty: its kind has none.
func (s Side) RolloutUndo() string { return s.rollout("undo") }

// RolloutStatus is the command that shows a roll-out of its StatefulSet: kubectl knows those of its own kinds.
func (s Side) RolloutStatus() string {
	return cmp.Or(s.rollout("status"), s.Kubectl().Do("get", s.Set.ResourceName(), "-n", s.Namespace, s.Set.Name, "--watch"))
}

// rollout is a command about the roll-outs of its StatefulSet; empty: its kind has none.
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
