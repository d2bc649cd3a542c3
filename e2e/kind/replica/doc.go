// Package replica makes the workload a replica of an application that tests on kind move:
// its container, its volumes in the folder that both clusters share, and the reading of what
// it has written there.
package replica
