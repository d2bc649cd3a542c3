package main

import (
	"slices"
	"strings"
	"testing"
	"time"
)

// TestWrong: if no fault was tried in time, it is an error. If some were tried, they are a sample, and it is an error if
// their result cannot be bad luck.
func TestWrong(t *testing.T) {
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
		"no fault can be made":       {with(), ""},
		"none was tried":             {with(untried, untried), "none of the 2 faults was tried in 1m0s"},
		"one was tried, and killed":  {with(untried, killed), ""},
		"one was, and survived":      {with(untried, survived), ""},
		"two were, and survived":     {with(untried, survived, survived), "0.0 % are killed"},
		"all were, and one survived": {with(survived), "0.0 % are killed"},
		"a sample of bad luck":       {with(append(slices.Repeat([]fate{killed}, 37), survived, survived, survived, survived, survived, survived, untried)...), ""},
		"a sample that shows it":     {with(append(slices.Repeat([]fate{killed}, 35), append(slices.Repeat([]fate{survived}, 10), untried)...)...), "77.8 % are killed"},
	} {
		err := tc.report.wrong(90)
		if (err == nil) != (tc.wrong == "") || err != nil && !strings.Contains(err.Error(), tc.wrong) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
