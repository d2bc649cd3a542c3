package cluster

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

func writeFile(t *testing.T, path, content string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

// makeRecipe makes a module that looks like the control plane's.
func makeRecipe(t *testing.T) recipe {
	t.Helper()
	dir := t.TempDir()
	writeFile(t, filepath.Join(dir, "go.mod"), "module x\n\nrequire k8s.io/kubernetes v1.36.3\n")
	writeFile(t, filepath.Join(dir, "go.sum"), "sum\n")
	writeFile(t, filepath.Join(dir, "main.go"), "package main\n")
	return recipe{moduleDir: dir, goVersion: "go1.26.0", ldflags: "-s"}
}

func fingerprintOf(t *testing.T, r recipe) string {
	t.Helper()
	fingerprint, err := r.fingerprint()
	if err != nil {
		t.Fatal(err)
	}
	return fingerprint
}

func TestFingerprint(t *testing.T) {
	file := func(name, content string) func(*testing.T, *recipe) {
		return func(t *testing.T, r *recipe) { writeFile(t, filepath.Join(r.moduleDir, name), content) }
	}
	tests := map[string]struct {
		change   func(*testing.T, *recipe)
		wantSame bool
	}{
		"nothing":         {change: func(*testing.T, *recipe) {}, wantSame: true},
		"a file beside":   {change: file("README.md", "x"), wantSame: true},
		"go.mod":          {change: file("go.mod", "module y\n")},
		"go.sum":          {change: file("go.sum", "mus\n")},
		"a source":        {change: file("main.go", "package main // changed\n")},
		"one more source": {change: file("more.go", "package main\n")},
		"the Go version":  {change: func(_ *testing.T, r *recipe) { r.goVersion = "go1.27.0" }},
		"linker flags":    {change: func(_ *testing.T, r *recipe) { r.ldflags = "-w" }},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			r := makeRecipe(t)
			before := fingerprintOf(t, r)
			tc.change(t, &r)
			if same := fingerprintOf(t, r) == before; same != tc.wantSame {
				t.Errorf("same fingerprint: %t, want %t", same, tc.wantSame)
			}
		})
	}
}

func TestFingerprintIgnoresTheFolder(t *testing.T) {
	one, other := makeRecipe(t), makeRecipe(t)
	if fingerprintOf(t, one) != fingerprintOf(t, other) {
		t.Error("two copies of the module differ")
	}
}

func TestLinkerFlags(t *testing.T) {
	r := makeRecipe(t)
	flags, err := linkerFlags(r.moduleDir)
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

// fakeCompiler counts the builds and writes a file instead.
type fakeCompiler struct {
	builds atomic.Int32
	fail   error
}

func (f *fakeCompiler) compile(target string) error {
	f.builds.Add(1)
	return errors.Join(os.WriteFile(target, []byte("binary"), 0o700), f.fail)
}

func listDir(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, entry := range entries {
		if entry.Name() != "build.lock" {
			names = append(names, entry.Name())
		}
	}
	return names
}

func TestCachedBuildsOnlyWhatIsStale(t *testing.T) {
	r, dir, compiler := makeRecipe(t), t.TempDir(), &fakeCompiler{}
	first, err := cached(t.Context(), r, dir, compiler.compile)
	if err != nil {
		t.Fatal(err)
	}
	again, err := cached(t.Context(), r, dir, compiler.compile)
	if err != nil {
		t.Fatal(err)
	}
	if again != first || compiler.builds.Load() != 1 {
		t.Errorf("second call: %s after %d builds, want %s after 1", again, compiler.builds.Load(), first)
	}

	writeFile(t, filepath.Join(r.moduleDir, "main.go"), "package main // changed\n")
	fresh, err := cached(t.Context(), r, dir, compiler.compile)
	if err != nil {
		t.Fatal(err)
	}
	if fresh == first || compiler.builds.Load() != 2 {
		t.Errorf("after a change: %s after %d builds, want another file after 2", fresh, compiler.builds.Load())
	}
	if names := listDir(t, dir); len(names) != 1 || names[0] != filepath.Base(fresh) {
		t.Errorf("the cache holds %v, want only %s", names, filepath.Base(fresh))
	}
}

func TestCachedKeepsNothingOfAFailedBuild(t *testing.T) {
	dir := t.TempDir()
	wantErr := errors.New("no compiler")
	_, err := cached(t.Context(), makeRecipe(t), dir, (&fakeCompiler{fail: wantErr}).compile)
	if !errors.Is(err, wantErr) {
		t.Errorf("error %v, want %v", err, wantErr)
	}
	if names := listDir(t, dir); len(names) > 0 {
		t.Errorf("the cache holds %v, want nothing", names)
	}
}

func TestCachedBuildsOnceForAll(t *testing.T) {
	r, dir, compiler := makeRecipe(t), t.TempDir(), &fakeCompiler{}
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			if _, err := cached(t.Context(), r, dir, compiler.compile); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	if builds := compiler.builds.Load(); builds != 1 {
		t.Errorf("%d builds, want 1", builds)
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
