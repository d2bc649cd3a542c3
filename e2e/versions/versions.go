// Package versions names the versions of Kubernetes on which the tests run.
//
// The module files in e2e/controlplane are the list: go.mod is the default, and 1.37.mod would be version 1.37. To change
// the default, exchange the names of two module files and of their sums. To add a version, copy a module file and its sums,
// change the releases in it, and run go mod tidy -modfile=NAME. All versions share the sources next to the module files. The
// tests of this package name the other places that list the versions. What the tests expect of some versions only is in
// expectations.go.
//
// make KUBERNETES=1.37 selects a version for its targets, and Variable does in any process.
package versions

import (
	"context"
	"debug/buildinfo"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/version"

	"github.com/sliceshift/sliceshift/e2e/built"
)

// Variable is the environment variable that selects a version by its number, for example 1.37. If it is empty or not set,
// the default is selected.
const Variable = "E2E_KUBERNETES"

// Version is a minor version of Kubernetes, and the release of it that control planes are built from.
type Version struct {
	// Number is for example 1.37.
	Number string
	// Release is for example v1.37.2.
	Release string
	// Default is true for the version that runs unless another one is selected.
	Default bool
	// Module is the folder of the module, File the path of the module file, and Flags are the linker flags by which
	// programs report the release.
	Module, File, Flags string
}

// All returns all versions, the oldest first.
func All() ([]Version, error) {
	module, err := built.Module("e2e", "controlplane")
	if err != nil {
		return nil, err
	}
	return in(module)
}

// in returns the versions of the module files in a folder.
func in(module string) ([]Version, error) {
	files, err := filepath.Glob(filepath.Join(module, "*.mod"))
	if err != nil {
		return nil, fmt.Errorf("list the module files of the control planes: %w", err)
	}
	var all []Version
	for _, file := range files {
		v, err := of(file)
		if err != nil {
			return nil, err
		}
		if slices.ContainsFunc(all, func(o Version) bool { return o.Number == v.Number }) {
			return nil, fmt.Errorf("%s requires Kubernetes %s, as another module file does", file, v.Number)
		}
		all = append(all, v)
	}
	if !slices.ContainsFunc(all, func(v Version) bool { return v.Default }) {
		return nil, fmt.Errorf("%s has no go.mod: the version in it is the default", module)
	}
	slices.SortFunc(all, func(a, b Version) int { return slices.Compare(a.parsed().Components(), b.parsed().Components()) })
	return all, nil
}

// of returns the version of a module file.
func of(file string) (Version, error) {
	release, flags, err := built.Kubernetes(file)
	if err != nil {
		return Version{}, err
	}
	parsed, err := version.ParseSemantic(release)
	if err != nil {
		return Version{}, fmt.Errorf("%s: %w", file, err)
	}
	v := Version{
		Number: fmt.Sprintf("%d.%d", parsed.Major(), parsed.Minor()), Release: release, Default: filepath.Base(file) == "go.mod",
		Module: filepath.Dir(file), File: file, Flags: flags,
	}
	if !v.Default && filepath.Base(file) != v.Number+".mod" {
		return Version{}, fmt.Errorf("%s requires Kubernetes %s: its name must be %s.mod", file, release, v.Number)
	}
	return v, nil
}

// Minor returns the second number, for example 37.
func (v Version) Minor() uint { return v.parsed().Minor() }

// Target returns the name of the figures that a make target measures on this version: with the default that of the target,
// else with the variable that selects the version.
func (v Version) Target(target string) string {
	if v.Default {
		return target
	}
	return target + " KUBERNETES=" + v.Number
}

func (v Version) parsed() *version.Version { return version.MustParseSemantic(v.Release) }

// Selected returns the version that Variable selects.
func Selected() (Version, error) {
	all, err := All()
	if err != nil {
		return Version{}, err
	}
	return choose(all, os.Getenv(Variable))
}

func choose(all []Version, number string) (Version, error) {
	var numbers []string
	for _, v := range all {
		if v.Number == number || number == "" && v.Default {
			return v, nil
		}
		numbers = append(numbers, v.Number)
	}
	return Version{}, fmt.Errorf("%s is %q: it must be one of %s", Variable, number, strings.Join(numbers, ", "))
}

// Program describes the control plane of a version. Each version has its own place among the cached programs.
func (v Version) Program() built.Program {
	return built.Program{
		Name: "kubernetes-" + v.Number, Module: v.Module, ModuleFile: v.File, Package: ".", Flags: v.Flags, Takes: "about 5 minutes",
	}
}

// Build returns the binary of the control plane of a version. If no binary of the same sources exists, Build builds it.
func (v Version) Build(ctx context.Context, progress io.Writer) (string, error) {
	return v.Program().Path(ctx, progress)
}

// Of returns the version of Kubernetes from which a control plane was built.
func Of(binary string) (*version.Version, error) {
	info, err := buildinfo.ReadFile(binary)
	if err != nil {
		return nil, fmt.Errorf("read the version of a control plane: %w", err)
	}
	for _, module := range info.Deps {
		if module.Path == "k8s.io/kubernetes" {
			return version.ParseSemantic(module.Version)
		}
	}
	return nil, errors.New(binary + " was not built from k8s.io/kubernetes")
}
