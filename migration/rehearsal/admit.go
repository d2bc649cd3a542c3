package rehearsal

import "fmt"

// Admission states whether this process may do everything that a rehearsal needs in its namespace.
type Admission struct {
	Allowed bool
	// Binding is a RoleBinding that gives User, as the API server knows this process, the rights of Role there.
	Binding    Object
	User, Role string
}

// admit binds the role of a rehearsal to this process in the new namespace, if it has no such rights everywhere. So its
// user needs no rights in namespaces of others.
func (f Facts) admit() Step {
	a := f.Admission
	switch {
	case a.Allowed:
		return Step{}
	case !a.Binding.Found:
		return f.write(Create, KindBinding, a.Binding)
	case f.Record.End == nil && f.Now.Sub(a.Binding.Created) > ProbeWithin:
		return f.ends(failed(ReasonNotAdmitted, fmt.Sprintf("RoleBinding %s gives user %s no rights: ClusterRole %s does not exist in the destination's cluster, or has other rules", named(a.Binding.Ref), a.User, a.Role),
			"create the roles of this version there: kubectl migrate install"))
	}
	return Step{Wait: fmt.Sprintf("RoleBinding %s takes effect for user %s", named(a.Binding.Ref), a.User)}
}

// admitted gives this process the rights to delete what is in the namespace. In a namespace that is being deleted no
// rights can be given, and none are needed.
func (f Facts) admitted() Step {
	if !f.owned() || f.Namespace.Terminating {
		return Step{}
	}
	return f.admit()
}
