package treediff

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// TestKeep: a kept folder is equal until the original changes, and of a device the content is kept. Nothing is overwritten.
func TestKeep(t *testing.T) {
	root, kept := t.TempDir(), filepath.Join(t.TempDir(), "kept")
	file := filepath.Join(root, "file")
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(os.WriteFile(file, []byte("content"), 0o640))
	must(os.Chtimes(file, time.Unix(1_700_000_000, 123), time.Unix(1_700_000_000, 123)))
	must(Keep(t.Context(), root, kept))
	if found, err := Compare(t.Context(), root, kept); err != nil || len(found) > 0 {
		t.Errorf("it differs at once: %q, %v", found, err)
	}
	must(os.WriteFile(file, []byte("CONTENT"), 0o640))
	if found, err := Compare(t.Context(), root, kept); err != nil || len(found) == 0 {
		t.Errorf("a change is not seen: %v", err)
	}
	device := filepath.Join(t.TempDir(), "device")
	must(Keep(t.Context(), file, device))
	if got, err := os.ReadFile(device); err != nil || !bytes.Equal(got, []byte("CONTENT")) {
		t.Errorf("kept is %q, %v", got, err)
	}
	if Keep(t.Context(), file, device) == nil {
		t.Error("a kept file is overwritten")
	}
	if Keep(t.Context(), filepath.Join(root, "missing"), filepath.Join(t.TempDir(), "x")) == nil {
		t.Error("a missing volume is kept")
	}
}
