package main

import (
	"slices"
	"testing"

	"sigs.k8s.io/yaml"
)

// TestPlanted: each fault of the list can be planted in the current code.
func TestPlanted(t *testing.T) {
	var mutants []mutant
	if err := yaml.UnmarshalStrict(list, &mutants); err != nil {
		t.Fatal(err)
	}
	t.Chdir("../..")
	if err := planted(mutants); err != nil {
		t.Error(err)
	}
}

// TestVerdicts: a verdict is of a fault of the list.
func TestVerdicts(t *testing.T) {
	var mutants []mutant
	if err := yaml.UnmarshalStrict(list, &mutants); err != nil {
		t.Fatal(err)
	}
	known, err := knownFrom("caught.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for fault, v := range known {
		if !slices.ContainsFunc(mutants, func(m mutant) bool { return m.Fault == fault }) {
			t.Errorf("the list has no fault %q", fault)
		}
		if !v.caught() || v.Commit == "" {
			t.Errorf("nothing has caught %q: %+v", fault, v)
		}
	}
}
