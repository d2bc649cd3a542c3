// Package duel plays the same script against Kubernetes' StatefulSet controller and ours:
// edits of a set, faults of its pods and claims, writes that the API server refuses. Both
// run on one cluster, in two namespaces, with the same kubelet.
//
// A script is drawn from a seed. After each of its steps both sides settle, and then pods,
// claims, ControllerRevisions and status must be equal, and what has happened to the pods
// in between:
//
//	of each ordinal    which pods were made, of which revision, got Ready, were deleted
//	in OrderedReady    the order of all of that, too; with maxUnavailable above 1 pods
//	                   are deleted at the same time, in any order
//
// A script that is rushed does not wait, so that edits meet roll-outs at any moment: only
// its end is compared.
//
// What differs on purpose is in one list, the explanations: each says when it holds, and
// where it is documented. Any other difference fails the script.
package duel
