// Package player simulates, for the pods of movers in an embedded cluster, the components that the cluster lacks: the
// kubelet that runs them, and the load balancer in front of them. kwok, which simulates the other kubelets, ignores
// these pods (e2e/cluster/stages/config.yaml). So a move by method Copy copies real bytes. Pods with ProgramKey as a
// label and as an annotation are run as well: they are applications that write during a move.
//
// The cluster's own scheduler assigns a node to a pod, and its own binder binds the claims. From then on the player
// acts like a kubelet:
//
//   - a claim is mounted only when it and its volume are bound to each other, by name and UID. The mount
//     is the folder of a hostPath or local volume, the device of a local volume, or a mount of a CSI
//     driver (Options.Volumes);
//   - the init container runs first; each container is the real program, started with the arguments and
//     variables of the pod; paths below a mount and the listening address are replaced by those of this
//     machine;
//   - annotations that a downwardAPI volume names are files, rewritten when they change;
//   - states, exit codes and termination messages are in the pod's status; a deleted pod gets SIGTERM,
//     after its grace period SIGKILL, and its object is deleted after its process has ended;
//   - a pod that has run for activeDeadlineSeconds fails. No container is restarted or probed: a pod
//     whose process runs is Ready.
//
// Every pod has an address 10.x.y.z, and listens on 127.x.y.z: the machine is one network for both clusters. A Service
// of type LoadBalancer gets an address of that network in its status. Senders of the own cluster reach a Service of
// type ClusterIP. Both forward to the pod that is currently behind them.
//
// Ports of the movers' pods are forwarded through the API server, as with any kubelet, to the address on which the pod
// listens.
//
// A test injects faults by On, at the steps of a pod.
package player
