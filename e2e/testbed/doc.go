// Package testbed repeats a run that failed because what it ran on broke: the control planes and
// kwok are many processes on one machine, and now and then one dies by itself. A run whose
// invariants were violated has failed all the same.
package testbed
