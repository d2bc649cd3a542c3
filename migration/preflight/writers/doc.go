// Package writers looks for whoever else writes a StatefulSet that is to be moved, or stops its pods:
// an operator, a GitOps tool, an autoscaler. Of each it says under which setting both live together,
// or how it is paused for the time of the move.
package writers
