package cluster

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"k8s.io/utils/clock"

	"github.com/sliceshift/sliceshift/internal/program"
)

const binaryPrefix = "controlplane-"

// Build returns the control plane binary, and builds it first if no one has
// built it from the same sources before: about 5 minutes with cold caches.
// Several processes may call it at once; one builds, the others wait for it.
// Only a build writes to progress, which may be nil.
func Build(ctx context.Context, progress io.Writer) (string, error) {
	if progress == nil {
		progress = io.Discard
	}
	cacheDir, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("find the user's cache folder: %w", err)
	}
	moduleDir, err := findModule()
	if err != nil {
		return "", err
	}
	r := recipe{moduleDir: moduleDir}
	if r.goVersion, err = goVersion(ctx, moduleDir); err != nil {
		return "", err
	}
	if r.ldflags, err = linkerFlags(moduleDir); err != nil {
		return "", err
	}
	return cached(ctx, r, filepath.Join(cacheDir, "sliceshift"), func(target string) error {
		return compile(ctx, r, target, progress)
	})
}

// cached returns the binary of this recipe in cacheDir. If there is none, it
// makes one with compile and removes those of other recipes: a binary takes
// 130 MB and nobody else would ever clean up.
func cached(ctx context.Context, r recipe, cacheDir string, compile func(target string) error) (string, error) {
	fingerprint, err := r.fingerprint()
	if err != nil {
		return "", err
	}
	binary := filepath.Join(cacheDir, binaryPrefix+fingerprint)
	if isFile(binary) {
		return binary, nil
	}
	if err := os.MkdirAll(cacheDir, 0o755); err != nil {
		return "", fmt.Errorf("make the cache folder: %w", err)
	}
	unlock, err := lockFile(ctx, filepath.Join(cacheDir, "build.lock"))
	if err != nil {
		return "", err
	}
	defer unlock()
	if isFile(binary) { // built while we waited for the lock
		return binary, nil
	}

	// The name does not start with binaryPrefix: whatever does is complete.
	target := filepath.Join(cacheDir, "building-"+fingerprint)
	defer os.Remove(target)
	if err := compile(target); err != nil {
		return "", err
	}
	if err := os.Rename(target, binary); err != nil {
		return "", fmt.Errorf("publish the control plane binary: %w", err)
	}
	return binary, removeStale(cacheDir, binary)
}

func removeStale(cacheDir, current string) error {
	binaries, err := filepath.Glob(filepath.Join(cacheDir, binaryPrefix+"*"))
	if err != nil {
		return fmt.Errorf("list the built control planes: %w", err)
	}
	for _, binary := range binaries {
		if binary == current {
			continue
		}
		if err := os.Remove(binary); err != nil {
			return fmt.Errorf("remove a stale control plane: %w", err)
		}
	}
	return nil
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

func compile(ctx context.Context, r recipe, target string, progress io.Writer) error {
	fmt.Fprintln(progress, "building the control plane (about 5 minutes the first time)")
	start := clock.RealClock{}.Now()
	in := program.In{Dir: r.moduleDir, Env: []string{"CGO_ENABLED=0", "GOWORK=off"}}
	if _, err := in.Output(ctx, "go", "build", "-trimpath", "-ldflags", r.ldflags, "-o", target, "."); err != nil {
		return fmt.Errorf("build the control plane: %w", err)
	}
	fmt.Fprintf(progress, "built the control plane in %s\n", clock.RealClock{}.Since(start).Round(100*time.Millisecond))
	return nil
}

// goVersion asks inside the module: its go.mod may select another toolchain.
func goVersion(ctx context.Context, moduleDir string) (string, error) {
	return program.In{Dir: moduleDir}.Output(ctx, "go", "env", "GOVERSION")
}
