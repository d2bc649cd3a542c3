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
	// fast skips the model if the tests of the fault's own package catch it.
	fast bool
}

// model is the package that explores the states of a migration.
const model = "migration/model"

// builtOn maps packages to packages that use them, and whose tests cover their purpose.
var builtOn = map[string][]string{
	"volumes": {"volumes/copy", "volumes/snapshot"}, "mover/entry": {"mover/transfer"}, "cmd/migrate/command": {"cmd/migrate/move"},
	"internal/clusters/slim": {"migration/world"}, "api/migration/v1alpha1": {"volumes/copy"},
}

// packages returns the packages whose tests may catch a fault in a file: its own, those that use it, the model, and
// the engine, which uses all of them. Package config embeds the files in its subfolders.
func packages(file string) []string {
	own := filepath.ToSlash(filepath.Dir(file))
	if strings.HasPrefix(own, "config/") {
		own = "config"
	}
	all := slices.Concat([]string{own}, builtOn[own])
	for _, pkg := range []string{model, "migration/engine"} {
		if !slices.Contains(all, pkg) {
			all = append(all, pkg)
		}
	}
	return all
}

func (b bench) try(ctx context.Context, m mutant) (verdict, error) {
	v := verdict{Fault: m.Fault}
	text, err := m.apply()
	if err != nil {
		return v, err
	}
	overlay, err := b.Overlay(map[string]string{m.File: text})
	if err != nil {
		return v, err
	}
	for _, pkg := range packages(m.File) {
		if b.fast && len(v.Tests) > 0 {
			v.Model = cmp.Or(v.Model, unexplored)
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
				v.Model = firstWrong(output)
			}
		}
		if len(v.Tests) > 0 && (pkg == model || pkg == "migration/engine") {
			continue // the tests of its own package have caught it
		}
		args := append([]string{"-test.skip=^TestModel(OfMethods|OfAuthors)?$", "-test.failfast"}, b.RapidArgs(pkg)...)
		output, failed, err := b.run(ctx, pkg, args...)
		if err != nil {
			return v, err
		}
		if failed {
			v.Tests = append(v.Tests, failures(output)...)
		}
	}
	return v, nil
}

// run runs the tests of a package and reports whether one failed. A timeout is an error and not a verdict, because a
// slow machine may cause it, too.
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
	// invariant matches the beginning of a line in which the model reports a violation.
	invariant = regexp.MustCompile(`(?m)^\s+(?:(?:model|methods)_test\.go:\d+: )?((?:I\d|liveness): .*)$`)
	// other matches the first line of any other failure.
	other  = regexp.MustCompile(`(?:model|methods)_test\.go:\d+: (.+)`)
	failed = regexp.MustCompile(`(?m)^--- FAIL: (\w+)`)
	stuck  = regexp.MustCompile(`(?m)^panic: (.+)`)
	// endless matches the output of a test binary that has timed out.
	endless = regexp.MustCompile(`(?m)^panic: test timed out after `)
)

// firstWrong returns the first violation that the model found, in one line.
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

// failures returns the tests that failed.
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
