// Package player plays, for the pods of movers in an embedded cluster, what no process of that cluster is: the
// kubelet that runs them, and the load balancer before them. kwok, which plays the other kubelets, leaves these pods
// alone (e2e/cluster/stages/config.yaml), so that a move by method Copy is one of real bytes. Pods that have
// ProgramKey as a label and as an annotation are run as well: by them an application writes while it moves.
//
// The cluster's own scheduler gives a pod its node, its own binder binds the claims. From there on the player does
// as a kubelet does:
//
//   - a claim is mounted when it and its volume are bound to each other, by name and UID, and not before. What is
//     mounted is the folder of a hostPath or local volume, or the device of a local one, or what a CSI driver
//     mounts (Options.Volumes);
//   - the init container runs first; each container is the real program, started with the arguments and variables of
//     the pod, of which paths below a mount and the listening address become those of this machine;
//   - annotations that a downwardAPI volume names are files, written again when they change;
//   - states, exit codes and termination messages are in the pod's status; a deleted pod gets SIGTERM, after its
//     grace period SIGKILL, and goes away when its process has;
//   - a pod that has run for activeDeadlineSeconds fails. No container is started again, and none is probed: a pod
//     whose process runs is Ready.
//
// Every pod has an address 10.x.y.z, and listens on 127.x.y.z: the machine is one network for both clusters. A
// Service of type LoadBalancer gets an address of that network in its status, one of type ClusterIP is reached by the
// senders of its own cluster; both lead to whichever pod is behind them at the moment.
//
// Ports of the movers' pods are forwarded, through the API server, as by any kubelet: to where the pod listens, on
// whichever of its addresses.
//
// A test does harm by On, at the steps of a pod.
package player
