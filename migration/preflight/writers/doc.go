// Package writers finds other controllers that write a StatefulSet that moves, or stop its pods: an operator, a
// GitOps tool, an autoscaler. For each it returns the setting with which both can coexist, or how to pause it during
// the move.
package writers
