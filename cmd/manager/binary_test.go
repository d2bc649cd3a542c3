package main

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// TestLinked: the manager links neither packages that only the command line needs nor package plugin. With package
// plugin the linker keeps every method of every linked type, which doubles the memory of the program.
func TestLinked(t *testing.T) {
	out, err := exec.CommandContext(t.Context(), "go", "list", "-deps", ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	linked := strings.Fields(string(out))
	if !slices.Contains(linked, "github.com/sliceshift/sliceshift/migration/engine") {
		t.Fatalf("it does not even link the engine: %s", linked)
	}
	for _, unwanted := range []string{"plugin", "sigs.k8s.io/kustomize/api/krusty", "charm.land/bubbletea/v2", "github.com/sliceshift/sliceshift/cmd/migrate/command"} {
		if slices.Contains(linked, unwanted) {
			t.Errorf("it links %s: `go list -deps -f '{{.ImportPath}} {{.Imports}}' ./cmd/manager` shows who imports it", unwanted)
		}
	}
}
