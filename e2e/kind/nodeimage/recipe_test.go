package nodeimage

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sliceshift/sliceshift/e2e/versions"
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
	control := versions.Version{Module: filepath.Join(dir, "controlplane"), File: filepath.Join(dir, "controlplane", "1.37.mod")}
	r := recipe{sourceDir: filepath.Join(dir, "nodeimage"), control: control, kindDir: "kind@v1", goVersion: "go1"}
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
	write(filepath.Join(control.Module, "main.go"), "a")
	write(filepath.Join(control.Module, "go.mod"), "a")
	write(control.File, "a")
	before := of(r)
	write(filepath.Join(r.sourceDir, "x_test.go"), "b")
	write(filepath.Join(control.Module, "go.mod"), "b")
	if of(r) != before {
		t.Error("a change of a test, or of another version of Kubernetes, makes another image")
	}
	for _, file := range []string{filepath.Join(r.sourceDir, "node.sh"), filepath.Join(r.sourceDir, "pause", "main.go"), filepath.Join(control.Module, "main.go"), control.File} {
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

// TestY13NodesOfOlderVersions: a version whose kubelet does not compile here has no node image, and the error names the way
// to another one. No build begins.
func TestY13NodesOfOlderVersions(t *testing.T) {
	all, err := versions.All()
	if err != nil {
		t.Fatal(err)
	}
	refused := 0
	for _, v := range all {
		if versions.NodePrograms.Has(v.Minor()) {
			continue
		}
		refused++
		t.Setenv(versions.Variable, v.Number)
		if _, err := newRecipe(t.Context(), t.TempDir()); err == nil || !strings.Contains(err.Error(), "E2E_KIND_IMAGE") {
			t.Errorf("a node image of %s: %v", v.Number, err)
		}
	}
	if refused == 0 {
		t.Error("no version is refused")
	}
}
