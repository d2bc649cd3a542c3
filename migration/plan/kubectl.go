package plan

import "fmt"

// Kubectl begins a command for one cluster, because an object of the same name may be in use in the other one. It has the flags that
// lead kubectl there: which context is the current one when the command is run, nobody knows. Where no context is known, as in a
// manager, the cluster is named in words before it.
func Kubectl(cluster, flags string) string {
	switch {
	case flags != "":
		return "kubectl " + flags
	case cluster != "":
		return "in cluster " + cluster + ": kubectl"
	}
	return "kubectl"
}

// Migrate is a command of ours for one cluster: a plugin has its flags behind its name.
func Migrate(cluster, flags, arguments string) string {
	command := "kubectl migrate " + arguments
	switch {
	case flags != "":
		return command + " " + flags
	case cluster != "":
		return "in cluster " + cluster + ": " + command
	}
	return command
}

// Kubectl begins a command for the cluster of the side.
func (s Side) Kubectl() string { return Kubectl(s.Cluster, s.Flags) }

// RolloutStatus is the command that shows a roll-out of its StatefulSet: kubectl knows those of its own kinds.
func (s Side) RolloutStatus() string {
	switch s.Set.ResourceName() {
	case NativeResource:
		return fmt.Sprintf("%s rollout status -n %s sts/%s", s.Kubectl(), s.Namespace, s.Set.Name)
	case SliceResource:
		return Migrate(s.Cluster, s.Flags, fmt.Sprintf("rollout status -n %s %s", s.Namespace, s.Set.Name))
	default:
		return fmt.Sprintf("%s get %s -n %s %s --watch", s.Kubectl(), s.Set.ResourceName(), s.Namespace, s.Set.Name)
	}
}
