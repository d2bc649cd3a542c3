package nodeimage

import (
	"os"
	"path/filepath"
	"testing"
)

func TestFingerprint(t *testing.T) {
	write := func(path, content string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	dir := t.TempDir()
	r := recipe{sourceDir: filepath.Join(dir, "nodeimage"), controlDir: filepath.Join(dir, "controlplane"), kindDir: "kind@v1", goVersion: "go1"}
	of := func(r recipe) string {
		t.Helper()
		sum, err := r.fingerprint()
		if err != nil {
			t.Fatal(err)
		}
		return sum
	}
	write(filepath.Join(r.sourceDir, "node.sh"), "a")
	write(filepath.Join(r.sourceDir, "x_test.go"), "a")
	write(filepath.Join(r.sourceDir, "pause", "main.go"), "a")
	write(filepath.Join(r.controlDir, "main.go"), "a")
	before := of(r)
	write(filepath.Join(r.sourceDir, "x_test.go"), "b")
	if of(r) != before {
		t.Error("a change of a test makes another image")
	}
	for _, file := range []string{filepath.Join(r.sourceDir, "node.sh"), filepath.Join(r.sourceDir, "pause", "main.go"), filepath.Join(r.controlDir, "main.go")} {
		write(file, "b")
		if of(r) == before {
			t.Errorf("a change of %s makes no other image", file)
		}
		write(file, "a")
	}
	newer := r
	newer.kindDir = "kind@v2"
	if of(newer) == before {
		t.Error("another kind makes no other image")
	}
}
