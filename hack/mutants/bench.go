package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/sliceshift/sliceshift/hack/internal/testbinary"
)

// bench compiles the tests with a fault, and runs them.
type bench struct {
	testbinary.Folder
	// fast leaves the model out where the tests of the package that has the fault catch it.
	fast bool
}

// model is the package that explores the states of a migration.
const model = "migration/model"

// builtOn are the packages that are built on another one, and whose tests show what it is for.
var builtOn = map[string][]string{
	"volumes": {"volumes/copy", "volumes/snapshot"}, "mover/entry": {"mover/transfer"}, "cmd/migrate/command": {"cmd/migrate/move"},
	"internal/clusters/slim": {"migration/observe"},
}

// packages are those whose tests may catch a fault in a file: its own, those that are built on that one, the model, and
// migration, which is built on all of them. What is in a folder of package config is embedded by it.
func packages(file string) []string {
	own := filepath.ToSlash(filepath.Dir(file))
	if strings.HasPrefix(own, "config/") {
		own = "config"
	}
	all := slices.Concat([]string{own}, builtOn[own])
	for _, pkg := range []string{model, "migration"} {
		if !slices.Contains(all, pkg) {
			all = append(all, pkg)
		}
	}
	return all
}

func (b bench) try(ctx context.Context, m mutant) (verdict, error) {
	v := verdict{mutant: m}
	text, err := m.apply()
	if err != nil {
		return v, err
	}
	overlay, err := b.Overlay(map[string]string{m.File: text})
	if err != nil {
		return v, err
	}
	for _, pkg := range packages(m.File) {
		if b.fast && len(v.tests) > 0 {
			v.model = cmp.Or(v.model, unexplored)
			break
		}
		if err := b.Compile(ctx, overlay, pkg); err != nil {
			return v, fmt.Errorf("it does not compile: %w", err)
		}
		if pkg == model {
			output, failed, err := b.run(ctx, pkg, "-test.run=^TestModel(OfMethods|OfAuthors)?$", "-model=small", "-test.failfast")
			if err != nil {
				return v, err
			}
			if failed {
				v.model = firstWrong(output)
			}
		}
		if len(v.tests) > 0 && (pkg == model || pkg == "migration") {
			continue // the tests of its own package have caught it
		}
		args := append([]string{"-test.skip=^TestModel(OfMethods|OfAuthors)?$", "-test.failfast"}, b.RapidArgs(pkg)...)
		output, failed, err := b.run(ctx, pkg, args...)
		if err != nil {
			return v, err
		}
		if failed {
			v.tests = append(v.tests, failures(output)...)
		}
	}
	return v, nil
}

// run runs the tests of a package and says whether one failed. Tests that do not end say nothing: a slow machine looks the same.
func (b bench) run(ctx context.Context, pkg string, args ...string) (output string, failed bool, err error) {
	args = append(args, "-test.timeout=1h")
	test := exec.CommandContext(ctx, b.Binary(pkg), args...)
	test.Dir = filepath.Join(b.Root, pkg)
	data, err := test.CombinedOutput()
	_, exited := errors.AsType[*exec.ExitError](err)
	switch {
	case exited && endless.Match(data):
		return "", false, fmt.Errorf("the tests of %s have not ended within an hour: let one fail that ends, or plant it where less runs", pkg)
	case exited:
		return string(data), true, nil
	}
	return string(data), false, err
}

var (
	// invariant is how a line of the model begins that says what is wrong.
	invariant = regexp.MustCompile(`(?m)^\s+(?:(?:model|methods)_test\.go:\d+: )?((?:I\d|liveness): .*)$`)
	// other is the first line of whatever else it says.
	other  = regexp.MustCompile(`(?:model|methods)_test\.go:\d+: (.+)`)
	failed = regexp.MustCompile(`(?m)^--- FAIL: (\w+)`)
	stuck  = regexp.MustCompile(`(?m)^panic: (.+)`)
	// endless is what a test binary says whose time is over.
	endless = regexp.MustCompile(`(?m)^panic: test timed out after `)
)

// firstWrong is what the model found, in one line.
func firstWrong(output string) string {
	for _, pattern := range []*regexp.Regexp{invariant, stuck, other} {
		if found := pattern.FindStringSubmatch(output); found != nil {
			line, _, _ := strings.Cut(found[1], "\n")
			return shortened(line)
		}
	}
	return "it fails"
}

func shortened(line string) string {
	const most = 110
	if len(line) <= most {
		return line
	}
	return line[:strings.LastIndex(line[:most], " ")] + " ..."
}

// failures are the tests that failed.
func failures(output string) []string {
	var names []string
	for _, found := range failed.FindAllStringSubmatch(output, -1) {
		if !slices.Contains(names, found[1]) {
			names = append(names, found[1])
		}
	}
	if len(names) == 0 {
		found := stuck.FindString(output)
		return []string{shortened(cmp.Or(found, "it fails"))}
	}
	return names
}
