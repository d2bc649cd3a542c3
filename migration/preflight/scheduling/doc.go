// Package scheduling says whether the nodes of a cluster can take the pods that are to come: by the
// rules of kube-scheduler that a node meets or does not, whatever else runs on it.
package scheduling
