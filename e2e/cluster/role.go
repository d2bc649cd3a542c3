package cluster

// Role names one process of a cluster. It is also the first argument of the control plane binary.
type Role string

// The roles of a cluster.
const (
	Etcd              Role = "etcd"
	APIServer         Role = "kube-apiserver"
	ControllerManager Role = "kube-controller-manager"
	Scheduler         Role = "kube-scheduler"
	Kwok              Role = "kwok"
)

// Roles lists all roles in the order in which they start. They stop in the opposite order, because a kube-apiserver
// that loses its etcd first lingers.
func Roles() []Role {
	return []Role{Etcd, APIServer, ControllerManager, Scheduler, Kwok}
}
