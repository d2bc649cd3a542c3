package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
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

// TestListIsReadAgain: known verdicts keep their lines.
func TestListIsReadAgain(t *testing.T) {
	file := filepath.Join(t.TempDir(), "planted.md")
	want := map[string]verdict{
		"by both":  {model: "I4: held [1] | evicted", tests: []string{"TestOne", "TestOther"}, commit: "c2ad926"},
		"by tests": {tests: []string{"TestOne"}, commit: "c2ad926, with changes"},
	}
	var verdicts []verdict
	for fault, v := range want {
		v.mutant = mutant{File: "a.go", Fault: fault, Breaks: "I4"}
		verdicts = append(verdicts, v)
	}
	if err := os.WriteFile(file, []byte(intro+table(verdicts)), 0o600); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, knownFrom(file), cmp.AllowUnexported(verdict{}), cmp.FilterPath(func(p cmp.Path) bool { return p.String() == "mutant" }, cmp.Ignore())); diff != "" {
		t.Error(diff)
	}
}
