package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sliceshift/sliceshift/hack/internal/testbinary"
)

// TestPackages: the tests of its own package come first, and no package is run twice.
func TestPackages(t *testing.T) {
	for file, want := range map[string][]string{
		"volumes/bind.go":               {"volumes", "volumes/copy", "volumes/snapshot", model, "migration/engine"},
		"migration/planner/layout.go":   {"migration/planner", model, "migration/engine"},
		"migration/engine/engine.go":    {"migration/engine", model},
		"config/rbac/manager_role.yaml": {"config", model, "migration/engine"},
		"internal/disk/disk.go":         {"internal/disk", model, "migration/engine"},
	} {
		if diff := cmp.Diff(want, packages(file)); diff != "" {
			t.Errorf("%s: -want +got\n%s", file, diff)
		}
	}
}

// TestTimeIsNoVerdict: tests that were stopped by the timeout have caught nothing.
func TestTimeIsNoVerdict(t *testing.T) {
	dir := t.TempDir()
	b := bench{Folder: testbinary.Folder{Root: dir, Dir: dir}}
	for says, caught := range map[string]bool{"--- FAIL: TestOne (0.00s)": true, "panic: no pod": true, "panic: test timed out after 1h0m0s": false} {
		script := "#!/bin/sh\necho '" + says + "'\nexit 2\n"
		if err := os.WriteFile(b.Binary("volumes"), []byte(script), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.MkdirAll(filepath.Join(dir, "volumes"), 0o700); err != nil {
			t.Fatal(err)
		}
		_, failed, err := b.run(t.Context(), "volumes")
		if failed != caught || (err == nil) != caught {
			t.Errorf("%s: it has failed %t, and %v", says, failed, err)
		}
	}
}
