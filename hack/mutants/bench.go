package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// bench compiles the tests with a fault, and runs them.
type bench struct {
	dir string
	// root is the top of the repository.
	root string
}

func newBench() (*bench, error) {
	root, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat("go.mod"); err != nil {
		return nil, fmt.Errorf("it runs at the top of the repository: %w", err)
	}
	dir, err := os.MkdirTemp("", "mutants")
	return &bench{dir: dir, root: root}, err
}

// model is the package that explores the states of a migration.
const model = "migration/model"

// packages are those whose tests may catch a fault in a file: its own, the model, and migration,
// which is built on all of them.
func packages(file string) []string {
	own := filepath.ToSlash(filepath.Dir(file))
	return slices.Compact([]string{own, model, "migration"})
}

func (b *bench) try(ctx context.Context, m mutant) (verdict, error) {
	v := verdict{mutant: m}
	overlay, err := b.plant(m)
	if err != nil {
		return v, err
	}
	for _, pkg := range packages(m.File) {
		binary := filepath.Join(b.dir, strings.ReplaceAll(pkg, "/", "_")+".test")
		build := exec.CommandContext(ctx, "go", "test", "-c", "-ldflags=-s -w", "-overlay", overlay, "-o", binary, "./"+pkg)
		if output, err := build.CombinedOutput(); err != nil {
			return v, fmt.Errorf("it does not compile: %s", bytes.TrimSpace(output))
		}
		if pkg == model {
			output, failed, err := b.run(ctx, binary, pkg, "-test.run=^TestModel$", "-model=small", "-test.failfast")
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
		args := []string{"-test.skip=^TestModel$", "-test.failfast"}
		if b.usesRapid(pkg) {
			args = append(args, "-rapid.checks=30", "-rapid.shrinktime=1ms", "-rapid.nofailfile")
		}
		output, failed, err := b.run(ctx, binary, pkg, args...)
		if err != nil {
			return v, err
		}
		if failed {
			v.tests = append(v.tests, failures(output)...)
		}
	}
	return v, nil
}

// usesRapid says whether the tests of a package know the flags of rapid.
func (b *bench) usesRapid(pkg string) bool {
	files, err := filepath.Glob(filepath.Join(b.root, pkg, "*_test.go"))
	return err == nil && slices.ContainsFunc(files, func(file string) bool {
		text, err := os.ReadFile(file)
		return err == nil && bytes.Contains(text, []byte("pgregory.net/rapid"))
	})
}

// plant writes the file with the fault, and the overlay that puts it in its place.
func (b *bench) plant(m mutant) (string, error) {
	text, err := m.apply()
	if err != nil {
		return "", err
	}
	planted := filepath.Join(b.dir, "planted.go")
	if err := os.WriteFile(planted, []byte(text), 0o600); err != nil {
		return "", err
	}
	data, err := json.Marshal(map[string]any{"Replace": map[string]string{filepath.Join(b.root, filepath.FromSlash(m.File)): planted}})
	if err != nil {
		return "", err
	}
	overlay := filepath.Join(b.dir, "overlay.json")
	return overlay, os.WriteFile(overlay, data, 0o600)
}

// run runs the tests of a package and says whether one failed.
func (b *bench) run(ctx context.Context, binary, pkg string, args ...string) (output string, failed bool, err error) {
	args = append(args, "-test.timeout=10m")
	test := exec.CommandContext(ctx, binary, args...)
	test.Dir = filepath.Join(b.root, pkg)
	data, err := test.CombinedOutput()
	if _, exited := errors.AsType[*exec.ExitError](err); exited {
		return string(data), true, nil
	}
	return string(data), false, err
}

var (
	// invariant is how a line of the model begins that says what is wrong.
	invariant = regexp.MustCompile(`(?m)^\s+(?:model_test\.go:\d+: )?((?:I\d|liveness): .*)$`)
	// other is the first line of whatever else it says.
	other  = regexp.MustCompile(`model_test\.go:\d+: (.+)`)
	failed = regexp.MustCompile(`(?m)^--- FAIL: (\w+)`)
	stuck  = regexp.MustCompile(`(?m)^panic: (.+)`)
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
