package main

import (
	"testing"

	"sigs.k8s.io/yaml"
)

// TestPlanted: each fault of the list can be planted in the code as it is: a list that does not follow the code cannot be run.
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
