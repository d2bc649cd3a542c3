package built

import (
	"cmp"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

const goVersion = "go1.26.0"

func writeFile(t *testing.T, path, content string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

// makeProgram creates a module and a Program to build from it.
func makeProgram(t *testing.T) Program {
	t.Helper()
	dir := t.TempDir()
	writeFile(t, filepath.Join(dir, "go.mod"), "module x\n")
	writeFile(t, filepath.Join(dir, "go.sum"), "sum\n")
	writeFile(t, filepath.Join(dir, "main.go"), "package main\n")
	return Program{Name: "program", Module: dir, Package: ".", Flags: "-s"}
}

func digestOf(t *testing.T, p Program, goVersion string) string {
	t.Helper()
	digest, err := p.digest(goVersion)
	if err != nil {
		t.Fatal(err)
	}
	return digest
}

func TestDigest(t *testing.T) {
	file := func(name, content string) func(*testing.T, *Program) {
		return func(t *testing.T, p *Program) { writeFile(t, filepath.Join(p.Module, name), content) }
	}
	tests := map[string]struct {
		change   func(*testing.T, *Program)
		version  string
		wantSame bool
	}{
		"nothing":         {change: func(*testing.T, *Program) {}, wantSame: true},
		"a file beside":   {change: file("README.md", "x"), wantSame: true},
		"go.mod":          {change: file("go.mod", "module y\n")},
		"go.sum":          {change: file("go.sum", "mus\n")},
		"a source":        {change: file("main.go", "package main // changed\n")},
		"one more source": {change: file("more.go", "package main\n")},
		"the Go version":  {change: func(*testing.T, *Program) {}, version: "go1.27.0"},
		"linker flags":    {change: func(_ *testing.T, p *Program) { p.Flags = "-w" }},
		"the package":     {change: func(_ *testing.T, p *Program) { p.Package = "example.com/other" }},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			p := makeProgram(t)
			before := digestOf(t, p, goVersion)
			tc.change(t, &p)
			if same := digestOf(t, p, cmp.Or(tc.version, goVersion)) == before; same != tc.wantSame {
				t.Errorf("same digest: %t, want %t", same, tc.wantSame)
			}
		})
	}
}

// TestY13DigestOfAModuleFile: a program of another module file depends on that file, its sums and the sources.
func TestY13DigestOfAModuleFile(t *testing.T) {
	p := makeProgram(t)
	of := digestOf(t, p, goVersion)
	p.ModuleFile = filepath.Join(p.Module, "1.37.mod")
	writeFile(t, p.ModuleFile, "module x\n")
	other := digestOf(t, p, goVersion)
	if other == of {
		t.Error("two module files have one digest")
	}
	for _, change := range []struct {
		file string
		same bool
	}{{"go.mod", true}, {"go.sum", true}, {"1.37.mod", false}, {"1.37.sum", false}, {"main.go", false}} {
		before := digestOf(t, p, goVersion)
		writeFile(t, filepath.Join(p.Module, change.file), "package main // changed\n")
		if same := digestOf(t, p, goVersion) == before; same != change.same {
			t.Errorf("after a change of %s the same digest: %t", change.file, same)
		}
	}
}

func TestDigestIgnoresTheFolder(t *testing.T) {
	one, other := makeProgram(t), makeProgram(t)
	if digestOf(t, one, goVersion) != digestOf(t, other, goVersion) {
		t.Error("two copies of the module differ")
	}
}

// fakeCompiler counts the builds and writes a file instead of building.
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
	p, dir, compiler := makeProgram(t), t.TempDir(), &fakeCompiler{}
	first, err := p.cached(t.Context(), goVersion, dir, compiler.compile)
	if err != nil {
		t.Fatal(err)
	}
	again, err := p.cached(t.Context(), goVersion, dir, compiler.compile)
	if err != nil {
		t.Fatal(err)
	}
	if again != first || compiler.builds.Load() != 1 {
		t.Errorf("second call: %s after %d builds, want %s after 1", again, compiler.builds.Load(), first)
	}

	writeFile(t, filepath.Join(p.Module, "main.go"), "package main // changed\n")
	fresh, err := p.cached(t.Context(), goVersion, dir, compiler.compile)
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
	_, err := makeProgram(t).cached(t.Context(), goVersion, dir, (&fakeCompiler{fail: wantErr}).compile)
	if !errors.Is(err, wantErr) {
		t.Errorf("error %v, want %v", err, wantErr)
	}
	if names := listDir(t, dir); len(names) > 0 {
		t.Errorf("the cache holds %v, want nothing", names)
	}
}

func TestCachedBuildsOnceForAll(t *testing.T) {
	p, dir, compiler := makeProgram(t), t.TempDir(), &fakeCompiler{}
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			if _, err := p.cached(t.Context(), goVersion, dir, compiler.compile); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	if builds := compiler.builds.Load(); builds != 1 {
		t.Errorf("%d builds, want 1", builds)
	}
}

func TestLinkerFlags(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "go.mod"), []byte("module x\n\nrequire k8s.io/kubernetes v1.36.3\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	version, flags, err := Kubernetes(filepath.Join(dir, "go.mod"))
	if err != nil || version != "v1.36.3" {
		t.Fatal(version, err)
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
