package disks

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestLost: lines that a replica added to its journal are no difference. All other changes are, in the journal and
// next to it.
func TestLost(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		change func(dir string) error
		differ bool
	}{
		"nothing":       {func(string) error { return nil }, false},
		"a line more":   {func(dir string) error { return write(dir, "web-0/journal", "0 seed\n1 start\n2 tick\n") }, false},
		"a line less":   {func(dir string) error { return write(dir, "web-0/journal", "0 seed\n") }, true},
		"another line":  {func(dir string) error { return write(dir, "web-0/journal", "0 seed\n1 other\n2 tick\n") }, true},
		"no journal":    {func(dir string) error { return os.Remove(filepath.Join(dir, "web-0", "journal")) }, true},
		"an accusation": {func(dir string) error { return write(dir, "web-0/violations", "it ran twice\n") }, true},
		"a file less":   {func(dir string) error { return os.Remove(filepath.Join(dir, "file")) }, true},
		"a disk of nothing": {func(dir string) error {
			return errors.Join(os.RemoveAll(filepath.Join(dir, "web-0")), os.Remove(filepath.Join(dir, "file")))
		}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			before, now := filepath.Join(t.TempDir(), "before"), filepath.Join(t.TempDir(), "now")
			err := errors.Join(os.MkdirAll(filepath.Join(before, "web-0"), 0o750), write(before, "web-0/journal", "0 seed\n1 start\n"), write(before, "file", "data"))
			if err == nil {
				err = exec.Command("cp", "-a", before, now).Run()
			}
			if err := errors.Join(err, tc.change(now)); err != nil {
				t.Fatal(err)
			}
			differ, err := lost(t.Context(), before, now)
			if err != nil || len(differ) > 0 != tc.differ {
				t.Errorf("got %q (%v), want differences: %t", differ, err, tc.differ)
			}
		})
	}
}

// TestNoJournal: a disk without a journal was never that of a replica, which is a difference.
func TestNoJournal(t *testing.T) {
	t.Parallel()
	if differ, err := lost(t.Context(), t.TempDir(), t.TempDir()); err != nil || len(differ) == 0 {
		t.Errorf("got %q (%v)", differ, err)
	}
}

func write(dir, name, content string) error {
	return os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600)
}
