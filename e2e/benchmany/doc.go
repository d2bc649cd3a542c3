// Command benchmany measures many Migrations at once: the real manager process, with its
// settings as shipped, between embedded clusters of this machine. One run prints a table,
// writes out/bench-many.json, and leaves nothing running. It exits with 1 when a goal is
// missed.
//
// A run has parts, each on clusters of its own, so that nothing of one part is there in the
// next:
//
//	alone            one StatefulSet of 20 ordinals by command and one by the manager, in
//	                 turn, three times: medians
//	growth           a tenth of the Migrations, in one namespace; and the same with twice the
//	                 ordinals: what these send more is what a further handoff takes
//	one_namespace    all Migrations in one namespace, with one kubeconfig for each destination
//	many_namespaces  each Migration in a namespace of its own, with a Secret of its own that
//	                 holds the same user's kubeconfig
//
// Before anything is timed, the manager moves one ordinal: it runs then, and the API servers
// are warm. What happens is watched from outside, at the API servers: an ordinal is stopped
// when the source's StatefulSet asks for fewer replicas, and arrives when the destination's
// has it available. So the manager is timed as the command is.
//
// Requests are those that the manager itself counts (rest_client_requests_total), from the
// creation of the first Migration to the completion of the last: what is sent before the first
// handoff and after the last is among them, and events are. That metric takes watches for
// reads, and for writes what writes nothing: access reviews, which are created, and dry runs.
// They are taken out again. FlowSchemas of each API server match the watches and reviews of the
// manager and of whom it acts as, and nothing else, and the server counts what it has dispatched
// for each. They stay in the priority level that they have without. Dry runs the server counts
// by itself. Requests a second are all of them.
//
// Those of the command are counted in its process, during the handoffs alone.
//
// A Migration that is not completed in time counts for all that time, and handoffs that have
// arrived until then are what is divided by.
package main
