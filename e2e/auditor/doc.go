// Package auditor watches the two sides of a move and proves or refutes that one StatefulSet went from the source to
// the destination without breaking its invariants. It shares no code with the engine that it judges, has its own
// connections, and relies only on the answers of an API server.
//
// # How it judges without blaming a race
//
// The two sides have no common clock and their watches have no common order, so
// no verdict rests on two events of different streams. Each rests on one of:
//
//   - A, B, A: thing A is read, then B, then A again. The same uid (or
//     resourceVersion) of A in both reads means that A existed, unchanged, at the
//     instant at which B was read. An event counts as a read of the past.
//   - Two phases: everything is read once, and when all answers have arrived, once
//     more. Everything that did not change held at one common instant between the
//     phases. The state that the watches have delivered is a first phase without cost.
//   - One stream: states of one object in the order of one watch. When both
//     sides are the same API server, resourceVersions order its pods too.
//
// # Invariants
//
//	I1  no ordinal exists as a pod on both sides, Terminating included
//	I2  no volume is bound and usable on both sides, unless all ordinals share it and several
//	    nodes may mount it together; no volume is given to one side while the other side's pod
//	    or VolumeAttachment still exists; a copied or restored volume is usable under its
//	    ordinal's claim on one side only
//	I3  every claim that moved has the volume recorded at the source; nothing was
//	    deleted whose reclaim policy was not Retain; where content is copied or restored, a pod
//	    starts on the content that it had when it stopped, which the auditor compares independently
//	    when the copy is given to the ordinal's claim and keeps; at the end, the volume that the
//	    ordinal has left still has that content
//	I4  replicas that the move holds down, plus the evictions that all budgets
//	    allow together, never exceed the disruption budget d
//
// Worked example of I4 with d=1 and ordinals 0 to 4: ordinal 4 was taken out of the source's range and is not Ready at
// the destination, so 1 is held. With allowances of 0 and 0 the sum is 1: kept. With allowances of 0 and 1 the sum is
// 2: refuted, because the eviction may be granted at any moment.
//
// # In place
//
// A migration in place has one set, whose volumes are replaced under its own name (Options.InPlace). There the invariants are:
//
//	I1  while the pod of an ordinal has a volume mounted, no other pod may write to it
//	I2  another volume is reserved for an ordinal's claim only when no pod of the ordinal runs
//	I3  a pod starts on the volume that its ordinal ran on last, or on one with the same content, which the auditor
//	    compares when that volume is reserved; no volume is provisioned for a claim of an ordinal; no volume on which an
//	    ordinal has run is deleted, and the last one that it has left still has its content at the end
//	I4  as above; an ordinal is held down from the deletion of its claim until its pod is available again
//
// A check that could not run is recorded as unproved, never as passed. Report.OK is false for a run that moved
// ordinals while an invariant that applies was never checked.
//
// # Layout
//
// Package judge holds the verdicts: pure functions over small structs. Package view builds those structs from API
// objects. read.go and package feed read the objects. The check_*.go and sample_*.go files combine the two.
package auditor
