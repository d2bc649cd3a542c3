// Package replica runs the workload as a replica of the applications that the tests on kind move. It has the
// container, the volumes in the shared folder of the clusters, and functions that read the journals.
package replica
