package docs

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// subtests finds the names of the subtests of a folder's tests in their source. They are literals that reach the first
// argument of a Run, directly or through the keys and fields of tables, variables and parameters of functions of the
// folder.
type subtests struct {
	functions map[string]*ast.FuncDecl
	// variables and structs are those of the package.
	variables map[string]ast.Expr
	structs   map[string]*ast.StructType
	// running are the functions that call Run, directly or through others.
	running map[string]bool
	// names are the names of the current test; reading are the functions that are currently being read for it.
	names   []string
	reading map[*ast.FuncDecl]bool
}

// value is an expression and the call in which it occurs.
type value struct {
	expr  ast.Expr
	scope *scope
}

// scope is a call of a function: the values of its arguments and variables.
type scope struct {
	bound map[string][]value
	// keys and elements are the tables that loops range over, by the loop variables.
	keys, elements map[string][]value
}

// readSubtests returns the names of the subtests of each test of a folder.
func readSubtests(folder string) (map[string][]string, error) {
	paths, err := filepath.Glob(filepath.Join(folder, "*_test.go"))
	if err != nil {
		return nil, err
	}
	s := &subtests{functions: map[string]*ast.FuncDecl{}, variables: map[string]ast.Expr{}, structs: map[string]*ast.StructType{}}
	for _, path := range paths {
		parsed, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		s.declare(parsed)
	}
	s.running = map[string]bool{"Run": true}
	for grown := true; grown; {
		grown = s.growRunning()
	}
	found := map[string][]string{}
	for name, function := range s.functions {
		if strings.HasPrefix(name, "Test") {
			s.names, s.reading = nil, map[*ast.FuncDecl]bool{}
			s.read(function, nil, nil)
			found[name] = s.names
		}
	}
	return found, nil
}

// growRunning adds the functions that call a function known to call Run.
func (s *subtests) growRunning() bool {
	before := len(s.running)
	for name, function := range s.functions {
		ast.Inspect(function, func(node ast.Node) bool {
			if call, ok := node.(*ast.CallExpr); ok && s.running[called(call)] {
				s.running[name] = true
			}
			return !s.running[name]
		})
	}
	return len(s.running) > before
}

// called returns the name of the called function or method.
func called(call *ast.CallExpr) string {
	switch function := call.Fun.(type) {
	case *ast.Ident:
		return function.Name
	case *ast.SelectorExpr:
		return function.Sel.Name
	}
	return ""
}

func (s *subtests) declare(file *ast.File) {
	for _, declaration := range file.Decls {
		switch d := declaration.(type) {
		case *ast.FuncDecl:
			s.functions[d.Name.Name] = d
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				s.declareSpec(spec)
			}
		}
	}
}

func (s *subtests) declareSpec(spec ast.Spec) {
	switch spec := spec.(type) {
	case *ast.ValueSpec:
		for i, name := range spec.Names {
			if i < len(spec.Values) {
				s.variables[name.Name] = spec.Values[i]
			}
		}
	case *ast.TypeSpec:
		if fields, ok := spec.Type.(*ast.StructType); ok {
			s.structs[spec.Name.Name] = fields
		}
	}
}

// read reads a function that is called with these arguments.
func (s *subtests) read(function *ast.FuncDecl, arguments []ast.Expr, caller *scope) {
	if s.reading[function] || function.Body == nil {
		return
	}
	s.reading[function] = true
	defer delete(s.reading, function)
	in := &scope{bound: map[string][]value{}, keys: map[string][]value{}, elements: map[string][]value{}}
	i := 0
	for _, field := range function.Type.Params.List {
		for _, name := range field.Names {
			if i < len(arguments) {
				in.bound[name.Name] = []value{{arguments[i], caller}}
			}
			i++
		}
	}
	ast.Inspect(function.Body, func(node ast.Node) bool {
		in.learn(node)
		return true
	})
	ast.Inspect(function.Body, func(node ast.Node) bool {
		if call, ok := node.(*ast.CallExpr); ok {
			s.call(call, in)
		}
		return true
	})
}

// learn records the values that a statement assigns to variables.
func (in *scope) learn(node ast.Node) {
	switch n := node.(type) {
	case *ast.AssignStmt:
		for i, left := range n.Lhs {
			if name, ok := left.(*ast.Ident); ok && len(n.Lhs) == len(n.Rhs) {
				in.bound[name.Name] = append(in.bound[name.Name], value{n.Rhs[i], in})
			}
		}
	case *ast.RangeStmt:
		if name, ok := n.Key.(*ast.Ident); ok {
			in.keys[name.Name] = append(in.keys[name.Name], value{n.X, in})
		}
		if name, ok := n.Value.(*ast.Ident); ok {
			in.elements[name.Name] = append(in.elements[name.Name], value{n.X, in})
		}
	}
}

func (s *subtests) call(call *ast.CallExpr, in *scope) {
	name := called(call)
	if name == "Run" && len(call.Args) == 2 {
		s.names = append(s.names, s.texts(value{call.Args[0], in})...)
		return
	}
	if function := s.functions[name]; function != nil && s.running[name] {
		s.read(function, call.Args, in)
	}
}

// texts returns the literals that a text expression consists of.
func (s *subtests) texts(v value) []string {
	switch e := v.expr.(type) {
	case *ast.BasicLit:
		if text, err := strconv.Unquote(e.Value); err == nil && e.Kind == token.STRING {
			return []string{text}
		}
	case *ast.BinaryExpr:
		return append(s.texts(value{e.X, v.scope}), s.texts(value{e.Y, v.scope})...)
	case *ast.CallExpr:
		return s.each(e.Args, v.scope)
	case *ast.Ident:
		return s.named(e.Name, v.scope)
	case *ast.SelectorExpr:
		if name, ok := e.X.(*ast.Ident); ok && v.scope != nil {
			return s.fields(v.scope.elements[name.Name], e.Sel.Name)
		}
	}
	return nil
}

func (s *subtests) each(expressions []ast.Expr, in *scope) []string {
	var texts []string
	for _, e := range expressions {
		texts = append(texts, s.texts(value{e, in})...)
	}
	return texts
}

func (s *subtests) named(name string, in *scope) []string {
	if in == nil {
		return nil
	}
	texts := s.keysOf(in.keys[name])
	for _, table := range in.elements[name] {
		for _, literal := range s.tables(table) {
			for _, element := range literal.Elts {
				texts = append(texts, s.texts(value{valueOf(element), table.scope})...)
			}
		}
	}
	for _, bound := range in.bound[name] {
		if bound.expr != nil && !mentions(bound, name, in) {
			texts = append(texts, s.texts(bound)...)
		}
	}
	return texts
}

// mentions reports whether the value of a variable refers to the variable.
func mentions(v value, name string, in *scope) bool {
	found := false
	ast.Inspect(v.expr, func(node ast.Node) bool {
		ident, ok := node.(*ast.Ident)
		found = found || ok && v.scope == in && ident.Name == name
		return true
	})
	return found
}

func (s *subtests) keysOf(tables []value) []string {
	var texts []string
	for _, table := range tables {
		for _, literal := range s.tables(table) {
			for _, element := range literal.Elts {
				if pair, ok := element.(*ast.KeyValueExpr); ok {
					texts = append(texts, s.texts(value{pair.Key, table.scope})...)
				}
			}
		}
	}
	return texts
}

// tables returns the composite literals that a table consists of.
func (s *subtests) tables(v value) []*ast.CompositeLit {
	switch e := v.expr.(type) {
	case *ast.CompositeLit:
		return []*ast.CompositeLit{e}
	case *ast.CallExpr:
		var literals []*ast.CompositeLit
		for _, argument := range e.Args {
			literals = append(literals, s.tables(value{argument, v.scope})...)
		}
		return literals
	case *ast.Ident:
		var literals []*ast.CompositeLit
		if v.scope != nil {
			for _, bound := range v.scope.bound[e.Name] {
				if !mentions(bound, e.Name, v.scope) {
					literals = append(literals, s.tables(bound)...)
				}
			}
		}
		if literals == nil && s.variables[e.Name] != nil {
			return s.tables(value{s.variables[e.Name], nil})
		}
		return literals
	}
	return nil
}

// fields returns the values of a field of the elements of tables.
func (s *subtests) fields(tables []value, field string) []string {
	var texts []string
	for _, table := range tables {
		for _, literal := range s.tables(table) {
			index := s.index(literal.Type, field)
			for _, element := range literal.Elts {
				texts = append(texts, s.texts(value{fieldOf(element, field, index), table.scope})...)
			}
		}
	}
	return texts
}

// valueOf returns the value of an element of a table, without its key.
func valueOf(element ast.Expr) ast.Expr {
	if pair, ok := element.(*ast.KeyValueExpr); ok {
		return pair.Value
	}
	return element
}

func fieldOf(element ast.Expr, field string, index int) ast.Expr {
	literal, ok := valueOf(element).(*ast.CompositeLit)
	if !ok {
		return nil
	}
	for i, each := range literal.Elts {
		if pair, ok := each.(*ast.KeyValueExpr); ok {
			if key, ok := pair.Key.(*ast.Ident); ok && key.Name == field {
				return pair.Value
			}
		} else if i == index {
			return each
		}
	}
	return nil
}

// index returns the position of a field in the elements of a table of this type, or -1.
func (s *subtests) index(of ast.Expr, field string) int {
	switch of := of.(type) {
	case *ast.ArrayType:
		return s.index(of.Elt, field)
	case *ast.MapType:
		return s.index(of.Value, field)
	case *ast.Ident:
		if fields := s.structs[of.Name]; fields != nil {
			return s.index(fields, field)
		}
	case *ast.StructType:
		at := 0
		for _, each := range of.Fields.List {
			for _, name := range each.Names {
				if name.Name == field {
					return at
				}
				at++
			}
		}
	}
	return -1
}

// testFolders returns the folders of the project that have tests.
func testFolders(t *testing.T) []string {
	t.Helper()
	var folders []string
	err := filepath.WalkDir("..", func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil || !entry.IsDir():
			return err
		case entry.Name() == "out" || entry.Name() == "bin" || entry.Name() == "docs" || entry.Name() == ".git":
			return fs.SkipDir
		}
		if tests, _ := filepath.Glob(filepath.Join(path, "*_test.go")); len(tests) > 0 {
			folders = append(folders, path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return folders
}

// TestSubtestsAreFound covers each form in which a test names its subtests, and forms that are no names.
func TestSubtestsAreFound(t *testing.T) {
	folder := t.TempDir()
	source := `package a

var rows = []struct{ name, other string }{{"field of a package's table", "not this"}}

// TestForms: not in a comment.
func TestForms(t *testing.T) {
	t.Run("literal", nil)
	t.Run("first " + "and second", nil)
	for name := range map[string]int{"key": 1} {
		t.Run(name, nil)
	}
	for _, tc := range rows {
		t.Run("before "+tc.name, nil)
	}
	for what, name := range map[string]string{"not this": "value"} {
		t.Run(fmt.Sprintf("format %s", name), nil)
		t.Log(what)
	}
	check(t, []row{{name: "row of a helper"}})
	p.step("method", func() { t.Run("inner", nil) })
	t.Log("not this")
}

func check(t *testing.T, rows []row) {
	for _, r := range rows {
		t.Run(r.name, nil)
	}
}

func (p *play) step(name string, run func()) { p.t.Run(name, nil) }
`
	if err := os.WriteFile(filepath.Join(folder, "a_test.go"), []byte(source), 0o600); err != nil {
		t.Fatal(err)
	}
	tests, err := readSubtests(folder)
	if err != nil {
		t.Fatal(err)
	}
	found := tests["TestForms"]
	slices.Sort(found)
	want := []string{"and second", "before ", "field of a package's table", "first ", "format %s", "inner", "key", "literal", "method", "row of a helper", "value"}
	if found = slices.Compact(found); !slices.Equal(found, want) {
		t.Errorf("found %q\nwant  %q", found, want)
	}
}
