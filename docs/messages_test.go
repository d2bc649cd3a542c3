package docs

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// messageFolders are the folders whose code creates the messages in conditions, findings, holds and events.
var messageFolders = []string{"../migration", "../slices", "../volumes", "../pdb", "../cmd/migrate"}

// TestMessages: messages.md lists every message with its reason, as it is in the code. With -update it writes the
// page.
func TestMessages(t *testing.T) {
	packages := parsePackages(t)
	exported := map[string]string{}
	for _, p := range packages {
		for name, text := range p.texts {
			if ast.IsExported(name) {
				exported[name] = text
			}
		}
	}
	var all []message
	words := slices.IndexFunc(packages, func(p sources) bool { return p.place == "migration/plan" })
	for _, p := range packages {
		p.exported, p.words = exported, &packages[words]
		all = append(all, p.messages()...)
	}
	slices.SortFunc(all, func(a, b message) int {
		return cmp.Or(cmp.Compare(a.place, b.place), cmp.Compare(a.reason, b.reason), cmp.Compare(a.text, b.text), cmp.Compare(a.remedy, b.remedy))
	})
	page := messagesPage(slices.Compact(all))
	if *update {
		if err := os.WriteFile("messages.md", []byte(page), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if page != read(t, "messages.md") {
		t.Error("messages.md is not what the code says: run make generate, and read what has changed as a user would")
	}
}

// message is a message for users. An ellipsis stands for each variable part.
type message struct{ place, reason, text, remedy string }

func messagesPage(all []message) string {
	var page strings.Builder
	page.WriteString(`# Messages

Every message of a condition, a finding, a hold and an event, by its reason: what is said, and what mends it. An ellipsis stands for a name or
a number. The page is generated from the code (` + "`make generate`" + `), so that all of it can be read in one go. What to do about a
reason is told at length in [the runbook](runbook.md).
`)
	place := ""
	for _, m := range all {
		if m.place != place {
			place = m.place
			fmt.Fprintf(&page, "\n## %s\n\n| reason | message | remedy |\n|---|---|---|\n", place)
		}
		fmt.Fprintf(&page, "| %s | %s | %s |\n", m.reason, cellOf(m.text), cellOf(m.remedy))
	}
	return page.String()
}

func cellOf(text string) string {
	return strings.NewReplacer("|", `\|`, "\n", " ", "<", "&lt;").Replace(text)
}

// parsePackages returns all packages of the folders, except helpers of tests.
func parsePackages(t *testing.T) (all []sources) {
	t.Helper()
	for _, folder := range messageFolders {
		err := filepath.WalkDir(folder, func(path string, entry os.DirEntry, err error) error {
			if err != nil || !entry.IsDir() {
				return err
			}
			if name := entry.Name(); strings.HasSuffix(name, "test") || name == "model" {
				return filepath.SkipDir
			}
			p, err := parsePackage(path)
			all = append(all, p)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return all
}

// sources holds the functions of one package, and its named texts.
type sources struct {
	place     string
	files     []*ast.File
	functions map[string]*ast.FuncDecl
	texts     map[string]string
	// exported are the named texts of all packages that others use.
	exported map[string]string
	// words is the package whose methods return the names of objects, also for other packages.
	words *sources
}

func parsePackage(folder string) (sources, error) {
	p := sources{place: strings.TrimPrefix(folder, "../"), functions: map[string]*ast.FuncDecl{}, texts: map[string]string{}}
	names, err := filepath.Glob(filepath.Join(folder, "*.go"))
	if err != nil {
		return p, err
	}
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			return p, err
		}
		p.files = append(p.files, file)
		ast.Inspect(file, func(node ast.Node) bool {
			switch node := node.(type) {
			case *ast.FuncDecl:
				p.functions[node.Name.Name] = node
			case *ast.ValueSpec:
				for i, value := range node.Values {
					if text, is := literal(value); is && i < len(node.Names) {
						p.texts[node.Names[i].Name] = text
					}
				}
			}
			return true
		})
	}
	return p, nil
}

// messages returns the messages that the package's functions give with a reason.
func (p sources) messages() (all []message) {
	for _, file := range p.files {
		for _, declaration := range file.Decls {
			function, is := declaration.(*ast.FuncDecl)
			if !is || function.Body == nil {
				continue
			}
			ast.Inspect(function.Body, func(node ast.Node) bool {
				for _, m := range p.said(function, node) {
					m.place = p.place
					all = append(all, m)
				}
				return true
			})
		}
	}
	return all
}

// said returns the messages of one expression: a reason comes first, then the message, then the remedy.
func (p sources) said(in *ast.FuncDecl, node ast.Node) (all []message) {
	var list []ast.Expr
	event := false
	switch node := node.(type) {
	case *ast.CallExpr:
		list = node.Args
		name := nameOf(node.Fun)
		event = strings.HasPrefix(strings.ToLower(name), "event")
	case *ast.ReturnStmt:
		list = node.Results
	case *ast.CompositeLit:
		list = fieldsOf(node)
	}
	for i, each := range list {
		reason, is := p.reason(each, event)
		if !is || i+1 == len(list) {
			continue
		}
		rest := list[i+1:]
		if event && len(rest) > 1 { // the action is in between
			rest = rest[1:]
		}
		remedies := []string{""}
		if len(rest) > 1 && !event {
			remedies = append(p.forms(in, rest[1], 0), "")[:1]
		}
		for _, text := range p.forms(in, rest[0], 0) {
			if strings.Contains(text, " ") {
				all = append(all, message{reason: reason, text: verb.ReplaceAllString(text, unknown), remedy: remedies[0]})
			}
		}
		break
	}
	return all
}

// fieldsOf returns a literal's reason, message and remedy, in this order.
func fieldsOf(node *ast.CompositeLit) []ast.Expr {
	fields := map[string]ast.Expr{}
	for _, element := range node.Elts {
		pair, is := element.(*ast.KeyValueExpr)
		if !is {
			return node.Elts
		}
		fields[nameOf(pair.Key)] = pair.Value
	}
	var list []ast.Expr
	for _, name := range []string{"Reason", "Message", "Remedy"} {
		if fields[name] != nil {
			list = append(list, fields[name])
		}
	}
	return list
}

var (
	reasonName  = regexp.MustCompile(`^(Reason|reason|Held)[A-Z]`)
	reasonValue = regexp.MustCompile(`^[A-Z][a-z]+([A-Z][a-z]+)+$|^[A-Z][a-z]+ed$`)
	verb        = regexp.MustCompile(`%(\[\d+\])?[-+# 0-9.]*[a-zA-Z]`)
)

// reason returns the reason of a message: a constant, or in an event the word itself.
func (p sources) reason(of ast.Expr, event bool) (string, bool) {
	if text, is := literal(of); is && event && reasonValue.MatchString(text) {
		return text, true
	}
	name := nameOf(of)
	if _, call := of.(*ast.CallExpr); call || !reasonName.MatchString(name) {
		return "", false
	}
	text, has := p.text(name)
	return text, has
}

// text returns the text that a name stands for.
func (p sources) text(name string) (string, bool) {
	if text, has := p.texts[name]; has {
		return text, true
	}
	text, has := p.exported[name]
	return text, has
}

const unknown = "…"

// forms returns the possible texts of an expression: several, if it is a variable or a function.
func (p sources) forms(in *ast.FuncDecl, of ast.Expr, depth int) []string {
	if text, is := literal(of); is {
		return []string{text}
	}
	if text, is := command(of); is {
		return []string{text}
	}
	switch of := of.(type) {
	case *ast.ParenExpr:
		return p.forms(in, of.X, depth)
	case *ast.BinaryExpr:
		return joined(p.forms(in, of.X, depth), p.forms(in, of.Y, depth))
	case *ast.Ident:
		if text, has := p.texts[of.Name]; has {
			return []string{text}
		}
		return p.assigned(in, of.Name, depth)
	case *ast.SelectorExpr:
		if text, has := p.text(of.Sel.Name); has {
			return []string{text}
		}
	case *ast.CallExpr:
		return p.called(in, of, depth)
	}
	return []string{unknown}
}

// called returns the results of a call.
func (p sources) called(in *ast.FuncDecl, call *ast.CallExpr, depth int) []string {
	name := nameOf(call.Fun)
	if len(call.Args) > 0 {
		form, given := literal(call.Args[0])
		if given && verb.MatchString(form) || name == "Sprintf" {
			var out []string
			for _, form := range p.forms(in, call.Args[0], depth) {
				out = append(out, filled(strings.ReplaceAll(form, "%%", "%"), call.Args[1:]))
			}
			return out
		}
	}
	const deepest = 2
	function := p.functions[name]
	if function == nil && p.words != nil && ast.IsExported(name) && name != "String" {
		p = *p.words
		function = p.functions[name]
	}
	if function == nil || function.Body == nil || depth == deepest {
		return []string{unknown}
	}
	var out []string
	ast.Inspect(function.Body, func(node ast.Node) bool {
		if result, is := node.(*ast.ReturnStmt); is && len(result.Results) == 1 {
			out = append(out, p.forms(function, result.Results[0], depth+1)...)
		}
		return true
	})
	return orUnknown(out)
}

// assigned returns the texts that a function assigns to a variable.
func (p sources) assigned(in *ast.FuncDecl, name string, depth int) []string {
	const deepest = 2
	if depth == deepest {
		return []string{unknown}
	}
	var out []string
	ast.Inspect(in.Body, func(node ast.Node) bool {
		assignment, is := node.(*ast.AssignStmt)
		if !is || len(assignment.Lhs) != len(assignment.Rhs) {
			return true
		}
		for i, left := range assignment.Lhs {
			if nameOf(left) != name {
				continue
			}
			forms := p.forms(in, assignment.Rhs[i], depth+1)
			if assignment.Tok == token.ADD_ASSIGN {
				forms = joined(slices.Clone(out), forms)
			}
			out = append(out, forms...)
		}
		return true
	})
	return orUnknown(out)
}

func orUnknown(forms []string) []string {
	slices.Sort(forms)
	if forms = slices.Compact(forms); len(forms) == 0 {
		return []string{unknown}
	}
	return forms
}

func joined(first, then []string) (out []string) {
	for _, a := range first {
		for _, b := range then {
			out = append(out, a+b)
		}
	}
	return out
}

func literal(of ast.Expr) (string, bool) {
	basic, is := of.(*ast.BasicLit)
	if !is || basic.Kind != token.STRING {
		return "", false
	}
	text, err := strconv.Unquote(basic.Value)
	return text, err == nil
}

func nameOf(of ast.Expr) string {
	switch of := of.(type) {
	case *ast.Ident:
		return of.Name
	case *ast.SelectorExpr:
		return of.Sel.Name
	}
	return ""
}
