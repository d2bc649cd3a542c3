package treediff

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestCompare: two equal trees, and each difference that one of the tools must report.
func TestCompare(t *testing.T) {
	stamp := time.Unix(1_700_000_000, 123)
	build := func(t *testing.T, change func(root string) error) string {
		t.Helper()
		root := t.TempDir()
		must := func(err error) {
			if err != nil {
				t.Fatal(err)
			}
		}
		must(os.Mkdir(filepath.Join(root, "folder"), 0o755))
		must(os.WriteFile(filepath.Join(root, "folder/file"), []byte("content"), 0o644))
		must(os.Chtimes(filepath.Join(root, "folder/file"), stamp, stamp))
		if change != nil {
			must(change(root))
		}
		for _, each := range []string{"folder", "."} {
			must(os.Chtimes(filepath.Join(root, each), stamp, stamp))
		}
		return root
	}
	at := func(root string) string { return filepath.Join(root, "folder/file") }
	for name, tc := range map[string]struct {
		change func(root string) error
		want   string
	}{
		"nothing": {nil, ""},
		"content": {func(root string) error {
			return errors.Join(os.WriteFile(at(root), []byte("CONTENT"), 0o644), os.Chtimes(at(root), stamp, stamp))
		}, "sha256digest differs"},
		"time":    {func(root string) error { return os.Chtimes(at(root), stamp, stamp.Add(time.Nanosecond)) }, "time differs"},
		"mode":    {func(root string) error { return os.Chmod(at(root), 0o600) }, "mode differs"},
		"missing": {func(root string) error { return os.Remove(at(root)) }, "missing"},
		"more":    {func(root string) error { return os.WriteFile(at(root)+"2", nil, 0o600) }, "extra"},
	} {
		t.Run(name, func(t *testing.T) {
			found, err := Compare(t.Context(), build(t, nil), build(t, tc.change))
			if err != nil {
				t.Fatal(err)
			}
			if tc.want == "" && len(found) > 0 || tc.want != "" && !slices.ContainsFunc(found, func(line string) bool { return strings.Contains(line, tc.want) }) {
				t.Errorf("found %q", found)
			}
		})
	}
	if _, err := Compare(t.Context(), t.TempDir(), "/no/such/folder"); err == nil {
		t.Error("a folder that is not there is compared")
	}
}
