package main

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// TestLinked: the manager links neither what only the command line needs nor the package plugin. Beside that one the linker keeps
// every method of every type that is linked, and the program is in memory with twice as much.
func TestLinked(t *testing.T) {
	out, err := exec.CommandContext(t.Context(), "go", "list", "-deps", ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	linked := strings.Fields(string(out))
	if !slices.Contains(linked, "github.com/sliceshift/sliceshift/migration") {
		t.Fatalf("it does not even link the engine: %s", linked)
	}
	for _, unwanted := range []string{"plugin", "sigs.k8s.io/kustomize/api/krusty", "charm.land/bubbletea/v2", "github.com/sliceshift/sliceshift/cmd/migrate/command"} {
		if slices.Contains(linked, unwanted) {
			t.Errorf("it links %s: `go list -deps -f '{{.ImportPath}} {{.Imports}}' ./cmd/manager` shows who imports it", unwanted)
		}
	}
}
