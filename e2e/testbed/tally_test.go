package testbed

import "testing"

// TestTally: the sentences for the documentation always name the parts that broke.
func TestTally(t *testing.T) {
	t.Parallel()
	run, total := NewTally(), NewTally()
	run.Add("a pause")
	run.Ran(3)
	total.merge(run)
	if want := "1 runs, 3 handoffs, 1 faults, 0 violations: a pause (1). No part of the testbed died by itself."; total.Sentence() != want {
		t.Errorf("sentence %q, want %q", total.Sentence(), want)
	}
	total.Bury([]Death{kwokDied, kwokDied})
	total.repeat([]string{"kwok of the destination died by itself"})
	want := "1 runs, 3 handoffs, 1 faults, 0 violations: a pause (1). Parts of the testbed died by themselves, 2 in all: kwok of the destination (2)." +
		" Runs repeated because the testbed broke, 1 in all: kwok of the destination died by itself (1)."
	if total.Sentence() != want {
		t.Errorf("sentence %q, want %q", total.Sentence(), want)
	}
}
