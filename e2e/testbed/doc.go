// Package testbed repeats a run that failed because its testbed broke. The control planes and kwok are many processes
// on one machine, and now and then one of them crashes. A run with a violated invariant fails in any case.
package testbed
