package cases

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
)

// Check checks that each test of the package in dir either also runs on kind, or is listed in embeddedOnly with the
// reason. It returns the faults that it finds.
func Check(dir string, onKind []string, embeddedOnly map[string]string) ([]string, error) {
	all, err := tests(dir)
	if err != nil {
		return nil, err
	}
	var wrong []string
	for _, name := range all {
		if runs, reason := slices.Contains(onKind, name), embeddedOnly[name]; runs == (reason != "") {
			wrong = append(wrong, name+" must be either among those that run on kind, or have the reason why it does not")
		}
	}
	named := slices.Clone(onKind)
	for name := range embeddedOnly {
		named = append(named, name)
	}
	for _, name := range named {
		if !slices.Contains(all, name) {
			wrong = append(wrong, name+" is named, and is not there")
		}
	}
	slices.Sort(wrong)
	return wrong, nil
}

// tests returns the names of the test functions of a folder, except TestMain.
func tests(dir string) ([]string, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
	if err != nil || len(files) == 0 {
		return nil, fmt.Errorf("no tests in %s: %w", dir, err)
	}
	var all []string
	for _, file := range files {
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		for _, declaration := range parsed.Decls {
			f, ok := declaration.(*ast.FuncDecl)
			if ok && f.Recv == nil && strings.HasPrefix(f.Name.Name, "Test") && f.Name.Name != "TestMain" {
				all = append(all, f.Name.Name)
			}
		}
	}
	return all, nil
}
