// Command bench measures this product on real control planes and compares it with
// what people do without it. One run starts two clusters on this machine, prints a
// table, writes out/bench.json, and leaves nothing running. It exits with 1 when a
// goal is missed.
//
// Three contenders move the same application, 20 ordinals with a claim each and a
// PodDisruptionBudget of maxUnavailable 1, from cluster east to cluster west:
//
//	sliceshift  the engine in this process, as "migrate run" drives it
//	script      move.sh: bash and kubectl, no budgets, no checks
//	floor       the writes of the script over raw HTTP, polling every 2 ms: what API
//	            servers, controllers and kubelets take by themselves
//
// They take turns, in another order each round, so that a busy machine hits all of
// them. What is timed is the same for each: from the decision to move the first
// ordinal until the last one is Ready at the destination. An ordinal's share
// therefore lasts from its stop to the next one's. What comes before (preflight,
// the destination's namespace, Service and empty StatefulSet) and after (restoring
// budgets and reclaim policies) is not timed; the script does neither.
package main
