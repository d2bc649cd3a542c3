package plan

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

// Kubectl begins a command for the cluster of the side.
func (s Side) Kubectl() string { return Kubectl(s.Cluster, s.Flags) }
