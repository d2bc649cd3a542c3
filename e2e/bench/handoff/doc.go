// Package handoff measures this product on real control planes and compares it with the usual alternatives. One run
// starts two clusters on this machine, prints a table, writes out/bench.json, and leaves nothing running. It exits
// with 1 when a goal is missed.
//
// Three contenders move the same application, 20 ordinals with a claim each and a
// PodDisruptionBudget of maxUnavailable 1, from cluster east to cluster west:
//
//	sliceshift  the engine in this process, as "migrate run" drives it
//	script      move.sh: bash and kubectl, no budgets, no checks
//	floor       the writes of the script over raw HTTP, polling every 2 ms: the time that
//	            API servers, controllers and kubelets need on their own
//
// They take turns, in another order each round, so that a busy machine affects all of them. The timed part is the same
// for each: from the decision to move the first ordinal until the last ordinal is Ready at the destination. So an
// ordinal's share lasts from its stop to the next ordinal's stop. The steps before (preflight, the destination's
// namespace, Service and empty StatefulSet) and after (restoring budgets and reclaim policies) are not timed; the
// script does neither.
package handoff
