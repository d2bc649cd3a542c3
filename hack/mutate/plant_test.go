package main

import (
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"slices"
	"strings"
	"testing"
)

// planted returns the faults of the statements of a function that returns a bool.
func planted(t *testing.T, statements string) (faults []string, text string) {
	t.Helper()
	const begin, end = "package p\n\nfunc f(a, b int, s string, ok bool) bool {\n", "\n}\n"
	text = begin + statements + end
	set := token.NewFileSet()
	tree, err := parser.ParseFile(set, "p.go", text, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	info := &types.Info{Types: map[ast.Expr]types.TypeAndValue{}, Uses: map[*ast.Ident]types.Object{}}
	config := types.Config{Importer: importer.Default()}
	pkg, err := config.Check("p", set, []*ast.File{tree}, info)
	if err != nil {
		t.Fatal(err)
	}
	s := &source{file: "p.go", text: []byte(text), tree: tree, set: set, info: info, pkg: pkg}
	mutants, err := plantAll([]*source{s})
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range mutants {
		faults = append(faults, m.Was+" -> "+m.Becomes+nth(m.Nth))
	}
	return faults, s.planted
}

// TestFaults: the faults of a piece of code.
func TestFaults(t *testing.T) {
	for name, tc := range map[string]struct {
		statements string
		want       []string
	}{
		"a bound":         {"return a < b", []string{"return a < b -> return zero for a < b", "a < b -> a >= b", "a < b -> a <= b"}},
		"a fixed bound":   {"x := a > 3\nreturn x", []string{"a > 3 -> a <= 3", "a > 3 -> a >= 3", "3 -> 3 + 1", "return x -> return zero for x"}},
		"two conditions":  {"x := ok && s == \"x\"\nreturn x", []string{"ok && s == \"x\" -> ok || s == \"x\"", "ok && s == \"x\" -> s == \"x\"", "ok -> !ok", "ok && s == \"x\" -> ok", "s == \"x\" -> s != \"x\"", `"x" -> ""`, "return x -> return zero for x"}},
		"a branch":        {"if !ok {\nreturn true\n}\nreturn false", []string{"if !ok -> if false", "!ok -> ok", "true -> false", "false -> true"}},
		"arithmetic":      {"a += b * 2\nreturn true", []string{"a += b * 2 -> (nothing)", "a += b * 2 -> a -= b * 2", "b * 2 -> b / 2", "2 -> 2 + 1", "2 -> 2 - 1", "true -> false"}},
		"a case":          {"switch s {\ncase \"x\":\na++\n}\nreturn true", []string{"case \"x\" -> case false", "a++ -> (nothing)", "a++ -> a--", "true -> false"}},
		"a loop":          {"for range a {\nif ok {\nbreak\n}\n}\nreturn true", []string{"for range a -> (nothing)", "if ok -> if false", "ok -> !ok", "break -> continue", "true -> false"}},
		"a text for them": {"if ok {\ns = \"for people\"\n}\nreturn true", []string{"true -> false"}},
	} {
		t.Run(name, func(t *testing.T) {
			got, text := planted(t, tc.statements)
			if !slices.Equal(got, tc.want) {
				t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(tc.want, "\n"))
			}
			runs(t, text)
		})
	}
}

// standard imports the standard library, which takes a while.
var standard = importer.ForCompiler(token.NewFileSet(), "source", nil)

// runs checks that a planted text compiles together with its switches.
func runs(t *testing.T, text string) {
	t.Helper()
	set := token.NewFileSet()
	var trees []*ast.File
	for _, part := range []string{text, strings.NewReplacer("PACKAGE", "p", "COUNT", "100").Replace(switches)} {
		tree, err := parser.ParseFile(set, "", part, parser.SkipObjectResolution)
		if err != nil {
			t.Fatalf("%v\n%s", err, part)
		}
		trees = append(trees, tree)
	}
	config := types.Config{Importer: standard}
	if _, err := config.Check("p", set, trees, nil); err != nil {
		t.Errorf("%v\n%s", err, text)
	}
}

// TestEffects: a file is in scope if it imports nothing with side effects.
func TestEffects(t *testing.T) {
	for name, want := range map[string]bool{
		"context": true, "os": true, "os/exec": true, "net/http": true, "sync/atomic": true, "log": true, "math/rand/v2": true,
		"k8s.io/client-go/rest": true, "sigs.k8s.io/controller-runtime": true, "sigs.k8s.io/controller-runtime/pkg/client": true, "github.com/go-logr/logr": true,
		"fmt": false, "slices": false, "time": false, "math": false, "k8s.io/api/core/v1": false, "k8s.io/apimachinery/pkg/types": false, module + "/pdb": false,
	} {
		tree := &ast.File{Imports: []*ast.ImportSpec{{Path: &ast.BasicLit{Value: `"` + name + `"`}}}}
		if got := hasEffects(tree); got != want {
			t.Errorf("%s: has effects %t", name, got)
		}
	}
}

// TestSample: the order of the mutants depends only on the commit.
func TestSample(t *testing.T) {
	mutants := func() []*mutant {
		var all []*mutant
		for line := range 50 {
			all = append(all, &mutant{File: "a.go", Func: "f", Was: strings.Repeat("x", line), Becomes: "y", Nth: 1})
		}
		return all
	}
	names := func(commit string) (names []string) {
		all := mutants()
		shuffle(all, commit)
		for _, m := range all {
			names = append(names, m.key())
		}
		return names
	}
	if !slices.Equal(names("a"), names("a")) || slices.Equal(names("a"), names("b")) {
		t.Error("the order does not follow from the commit")
	}
}
