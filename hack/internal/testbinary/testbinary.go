// Package testbinary compiles the tests of packages with planted faults.
package testbinary

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sliceshift/sliceshift/internal/program"
)

// Folder is where the tests of a repository are compiled.
type Folder struct {
	// Root is the root of the repository, and Dir holds the compiled tests.
	Root, Dir string
}

// New creates a folder for the repository that this process runs in.
func New() (Folder, error) {
	root, err := os.Getwd()
	if err != nil {
		return Folder{}, err
	}
	if _, err := os.Stat("go.mod"); err != nil {
		return Folder{}, fmt.Errorf("it runs at the top of the repository: %w", err)
	}
	dir, err := os.MkdirTemp("", "mutants")
	return Folder{Root: root, Dir: dir}, err
}

// Overlay writes an overlay for Compile that replaces files of the repository by texts.
func (f Folder) Overlay(texts map[string]string) (string, error) {
	replace := map[string]string{}
	var wrong error
	for file, text := range texts {
		planted := filepath.Join(f.Dir, strings.ReplaceAll(file, "/", "_"))
		replace[filepath.Join(f.Root, filepath.FromSlash(file))] = planted
		wrong = errors.Join(wrong, os.WriteFile(planted, []byte(text), 0o600))
	}
	data, err := json.Marshal(map[string]any{"Replace": replace})
	file := filepath.Join(f.Dir, "overlay.json")
	return file, errors.Join(wrong, err, os.WriteFile(file, data, 0o600))
}

// Compile compiles the tests of a package with an overlay.
func (f Folder) Compile(ctx context.Context, overlay, pkg string) error {
	_, err := program.In{}.Output(ctx, "go", "test", "-c", "-vet=off", "-ldflags=-s -w", "-overlay", overlay, "-o", f.Binary(pkg), "./"+pkg)
	return err
}

// Binary returns the path of the test binary that Compile creates for a package.
func (f Folder) Binary(pkg string) string {
	return filepath.Join(f.Dir, strings.ReplaceAll(pkg, "/", "_")+".test")
}

// RapidArgs returns the arguments that keep the property tests of a package short. There are none if the package has no
// such tests.
func (f Folder) RapidArgs(pkg string) []string {
	files, err := filepath.Glob(filepath.Join(f.Root, pkg, "*_test.go"))
	if err != nil || !slices.ContainsFunc(files, usesRapid) {
		return nil
	}
	return []string{"-rapid.checks=30", "-rapid.shrinktime=1ms", "-rapid.nofailfile"}
}

func usesRapid(file string) bool {
	text, err := os.ReadFile(file)
	return err == nil && bytes.Contains(text, []byte("pgregory.net/rapid"))
}
