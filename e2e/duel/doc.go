// Package duel plays the same script against Kubernetes' StatefulSet controller and ours: edits of a set, faults of
// its pods and claims, writes that the API server refuses. Both controllers run on one cluster, in two namespaces,
// with the same kubelet.
//
// A script is drawn from a seed. After each step both sides settle. Then pods, claims, ControllerRevisions and status
// must be equal, and so must the events of the pods since the previous step:
//
//	of each ordinal    which pods were created, of which revision, got Ready, were deleted
//	in OrderedReady    also the order of all these events; with maxUnavailable above 1 pods
//	                   are deleted at the same time, in any order
//
// A rushed script does not wait, so that edits meet rollouts at any moment: only its end is compared.
//
// The intended differences are in one list, the explanations. Each defines when it applies, and where it is
// documented. Any other difference fails the script.
package duel
