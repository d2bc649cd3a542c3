package main

import (
	"strings"
	"testing"
	"time"
)

// TestNothingTriedIsNoSuccess: where there was no time to try a single fault, nothing is known of the tests.
func TestNothingTriedIsNoSuccess(t *testing.T) {
	with := func(fates ...fate) *report {
		r := &report{took: time.Minute}
		for _, f := range fates {
			r.mutants = append(r.mutants, &mutant{File: "pdb/split.go", verdict: verdict{Fate: f}})
		}
		return r
	}
	for name, tc := range map[string]struct {
		report *report
		wrong  string
	}{
		"no fault can be made":      {with(), ""},
		"none was tried":            {with(untried, untried), "none of the 2 faults was tried in 1m0s"},
		"one was tried, and killed": {with(untried, killed), ""},
		"one was, and survived":     {with(untried, survived), "0.0 % are killed"},
	} {
		err := tc.report.wrong(90)
		if (err == nil) != (tc.wrong == "") || err != nil && !strings.Contains(err.Error(), tc.wrong) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
