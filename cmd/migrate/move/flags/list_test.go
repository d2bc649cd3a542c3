package flags

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// file holds the text of a file, and a part of the expected error.
type file struct{ text, wrong string }

// testFiles reads each file and compares the error.
func testFiles[T any](t *testing.T, of list[T], files map[string]file) {
	t.Helper()
	for name, tc := range files {
		path := filepath.Join(t.TempDir(), "list.yaml")
		if err := os.WriteFile(path, []byte(tc.text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := of.read(path)
		if (err == nil) != (tc.wrong == "") || err != nil && !strings.Contains(err.Error(), tc.wrong) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := of.read(filepath.Join(t.TempDir(), "none")); err == nil {
		t.Error("a file that is not there is read")
	}
	if all, err := of.read(""); all != nil || err != nil {
		t.Errorf("no file: %v, %v", all, err)
	}
}
