// Package scheduling reports whether the nodes of a cluster can take the pods of a move. It uses those rules of
// kube-scheduler that do not depend on other pods of a node.
package scheduling
