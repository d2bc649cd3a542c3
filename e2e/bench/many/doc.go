// Package many measures many concurrent Migrations: the real manager process, with its shipped settings, between
// embedded clusters of this machine. One run prints a table, writes out/bench-many.json, and leaves nothing running.
// It exits with 1 when a goal is missed.
//
// A run has parts, each on separate clusters, so that no part affects the next:
//
//	alone            one StatefulSet of 20 ordinals by command and one by the manager, in
//	                 turn, three times: medians
//	growth           a tenth of the Migrations, in one namespace; and the same with twice the
//	                 ordinals: the additional requests are the cost of further handoffs
//	one_namespace    all Migrations in one namespace, with one kubeconfig for each destination
//	many_namespaces  each Migration in a separate namespace, with a separate Secret that
//	                 holds the same user's kubeconfig
//
// Before the timed part, the manager moves one ordinal, so that it runs and the API servers are warm. The moves are
// observed from outside, at the API servers. An ordinal is stopped when the source's StatefulSet requests fewer
// replicas, and arrives when it is available at the destination. So the manager is timed in the same way as the
// command.
//
// Requests are those that the manager itself counts (rest_client_requests_total), from the creation of the first
// Migration to the completion of the last. They include events, and the requests before the first handoff and after
// the last. That metric counts watches as reads. It counts as writes two requests that write nothing: access reviews,
// which are created, and dry runs. All three are subtracted. FlowSchemas of each API server match only the watches and
// reviews of the manager and of its identities. The server counts the requests that it has dispatched for each
// FlowSchema. The requests stay in their original priority level. The server counts dry runs on its own. Requests a
// second include all of them.
//
// The requests of the command are counted in its process, during the handoffs only.
//
// A Migration that is not completed in time counts for the whole time. The divisor is the number of handoffs that have
// arrived by then.
package many
