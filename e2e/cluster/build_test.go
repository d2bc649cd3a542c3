package cluster

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestLinkerFlags(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "go.mod"), []byte("module x\n\nrequire k8s.io/kubernetes v1.36.3\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	flags, err := linkerFlags(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"-X k8s.io/component-base/version.gitVersion=v1.36.3",
		"-X k8s.io/client-go/pkg/version.gitMajor=1",
		"-X k8s.io/client-go/pkg/version.gitMinor=36",
	} {
		if !strings.Contains(flags, want) {
			t.Errorf("linker flags %q lack %q", flags, want)
		}
	}
}

func TestBuildFindsItsBinaryAgain(t *testing.T) {
	binary := controlPlane(t)
	var progress bytes.Buffer
	again, err := Build(t.Context(), &progress)
	if err != nil {
		t.Fatal(err)
	}
	if again != binary || progress.Len() > 0 {
		t.Errorf("second build: %s, progress %q; want %s and silence", again, progress.String(), binary)
	}
}
