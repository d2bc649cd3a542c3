// Package kind starts two kind clusters on this machine: nodes are containers, with real
// kubelets, containers and data. Both are on one Docker network, the pods of each reach
// those of the other, and a folder of this machine is mounted on every node of both, as
// storage that both clusters share.
//
// Where a registry can be reached the nodes are kind's own image. Elsewhere nodeimage builds
// one.
package kind
