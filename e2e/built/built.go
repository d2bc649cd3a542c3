// Package built caches programs that are built from nested modules of this repository. They are in the user's cache,
// below the folder that the Makefile names, one file for each program.
package built

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"time"

	"k8s.io/utils/clock"

	"github.com/sliceshift/sliceshift/e2e/flock"
	"github.com/sliceshift/sliceshift/internal/program"
)

// Program holds the inputs of a build. Equal Programs result in equal files.
type Program struct {
	// Name is the name of the program, and of its file with a digest as suffix.
	Name string
	// Module is the folder of the module, see Module.
	Module string
	// ModuleFile is the path of the module file; empty: go.mod in Module. The sums are next to it.
	ModuleFile string
	// Package is the package to build: "." or the path of a package that the module requires.
	Package string
	// Flags are linker flags.
	Flags string
	// Takes describes how long a build takes with cold caches.
	Takes string
}

// Path returns the program. If no build of the same sources exists, it builds the program first. Several processes may
// call it at once; one builds, the others wait for it. Only a build writes to progress, which may be nil.
func (p Program) Path(ctx context.Context, progress io.Writer) (string, error) {
	if progress == nil {
		progress = io.Discard
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("find the user's cache folder: %w", err)
	}
	// Run inside the module, because its go.mod may select another toolchain.
	version, err := program.In{Dir: p.Module}.Output(ctx, "go", "env", "GOVERSION")
	if err != nil {
		return "", err
	}
	return p.cached(ctx, version, filepath.Join(cache, "sliceshift"), func(target string) error { return p.build(ctx, target, progress) })
}

// digest returns a digest of the module file, its sums and the sources, the Go version and the build settings.
func (p Program) digest(goVersion string) (string, error) {
	made := fmt.Sprintf("%s\n%s\n%s/%s\n", goVersion, p.Flags, runtime.GOOS, runtime.GOARCH)
	if p.Package != "." {
		made += p.Package + "\n"
	}
	sum, err := program.Fingerprint(made, p.Sources()...)
	if err != nil {
		return "", fmt.Errorf("hash the sources of %s: %w", p.Name, err)
	}
	return sum, nil
}

// Sources returns the patterns of the files that a build reads in its module: the module file, its sums and the sources.
func (p Program) Sources() []string {
	module := filepath.Join(p.Module, "go")
	if p.ModuleFile != "" {
		module = strings.TrimSuffix(p.ModuleFile, ".mod")
	}
	return []string{module + ".*", filepath.Join(p.Module, "*.go")}
}

// cached returns the program in a folder. If it does not exist, cached builds it and removes older builds, which are
// large and would otherwise remain.
func (p Program) cached(ctx context.Context, goVersion, folder string, build func(target string) error) (string, error) {
	digest, err := p.digest(goVersion)
	if err != nil {
		return "", err
	}
	path := filepath.Join(folder, p.Name+"-"+digest)
	if isFile(path) {
		return path, nil
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return "", fmt.Errorf("make the cache folder: %w", err)
	}
	unlock, err := flock.Wait(ctx, filepath.Join(folder, "build.lock"))
	if err != nil {
		return "", err
	}
	defer unlock()
	if isFile(path) { // built while we waited for the lock
		return path, nil
	}

	// The name has no program name as prefix: every file with that prefix is complete.
	target := filepath.Join(folder, "building-"+digest)
	defer os.Remove(target)
	if err := build(target); err != nil {
		return "", err
	}
	if err := os.Rename(target, path); err != nil {
		return "", fmt.Errorf("publish %s: %w", p.Name, err)
	}
	return path, p.removeStale(folder, path)
}

func (p Program) removeStale(folder, current string) error {
	all, err := filepath.Glob(filepath.Join(folder, p.Name+"-*"))
	if err != nil {
		return fmt.Errorf("list the builds of %s: %w", p.Name, err)
	}
	for _, each := range all {
		if each == current {
			continue
		}
		if err := os.Remove(each); err != nil {
			return fmt.Errorf("remove a stale %s: %w", p.Name, err)
		}
	}
	return nil
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

func (p Program) build(ctx context.Context, target string, progress io.Writer) error {
	fmt.Fprintf(progress, "building %s (%s the first time)\n", p.Name, p.Takes)
	start := clock.RealClock{}.Now()
	in := program.In{Dir: p.Module, Env: []string{"CGO_ENABLED=0", "GOWORK=off"}}
	flags := []string{"-trimpath", "-ldflags", p.Flags}
	if p.ModuleFile != "" {
		flags = append(flags, "-modfile", p.ModuleFile)
	}
	stale, err := in.Output(ctx, "go", append(append([]string{"list", "-deps", "-f", "{{if .Stale}}{{.ImportPath}}{{end}}"}, flags...), p.Package)...)
	if err != nil {
		return fmt.Errorf("list the packages of %s: %w", p.Name, err)
	}
	in.Stderr = newCounter(progress, clock.RealClock{}, len(strings.Fields(stale)))
	if _, err := in.Output(ctx, "go", append(append([]string{"build", "-v", "-o", target}, flags...), p.Package)...); err != nil {
		return fmt.Errorf("build %s: %w", p.Name, err)
	}
	fmt.Fprintf(progress, "built %s in %s\n", p.Name, clock.RealClock{}.Since(start).Round(100*time.Millisecond))
	return nil
}

const mainModule = "module github.com/sliceshift/sliceshift\n"

// Module returns a folder of this repository, such as that of a nested module, or without a path that of the repository
// itself. The repository is that of the sources of this package. In a program that was built with -trimpath, it is the one
// that contains the working directory.
func Module(path ...string) (string, error) {
	below := filepath.Join(path...)
	if _, file, _, ok := runtime.Caller(0); ok {
		root := filepath.Join(filepath.Dir(file), "..", "..")
		if filepath.IsAbs(file) && isFile(filepath.Join(root, "go.mod")) {
			return filepath.Join(root, below), nil
		}
	}
	dir, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("find %s: %w", below, err)
	}
	for {
		content, err := os.ReadFile(filepath.Join(dir, "go.mod"))
		if err == nil && strings.HasPrefix(string(content), mainModule) {
			return filepath.Join(dir, below), nil
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", fmt.Errorf("find %s: not inside the sliceshift repository", below)
		}
		dir = parent
	}
}

// Command builds a command of the product into a file, with the dependencies of the product and not those of the tests.
func Command(ctx context.Context, name, file string, flags ...string) error {
	root, err := Module()
	if err != nil {
		return err
	}
	args := append([]string{"build", "-o", file}, flags...)
	if _, err := (program.In{Dir: root}).Output(ctx, "go", append(args, "./cmd/"+name)...); err != nil {
		return fmt.Errorf("build %s: %w", name, err)
	}
	return nil
}

var kubernetesVersion = regexp.MustCompile(`(?m)k8s\.io/kubernetes (v(\d+)\.(\d+)\.\S+)$`)

// Kubernetes returns the version of Kubernetes that a module file requires, and the linker flags by which its programs
// report it. Without them they report v0.0.0, which breaks every check of a server's version.
func Kubernetes(moduleFile string) (version, flags string, err error) {
	content, err := os.ReadFile(moduleFile)
	if err != nil {
		return "", "", fmt.Errorf("read a control plane's module file: %w", err)
	}
	found := kubernetesVersion.FindSubmatch(content)
	if found == nil {
		return "", "", fmt.Errorf("%s does not require k8s.io/kubernetes", moduleFile)
	}
	const set = " -X %s.gitVersion=%s -X %[1]s.gitMajor=%[3]s -X %[1]s.gitMinor=%[4]s"
	component := fmt.Sprintf(set, "k8s.io/component-base/version", found[1], found[2], found[3])
	return string(found[1]), "-s -w" + component + fmt.Sprintf(set, "k8s.io/client-go/pkg/version", found[1], found[2], found[3]), nil
}
