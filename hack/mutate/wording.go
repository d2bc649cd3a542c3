package main

import (
	"go/ast"
	"go/token"
	"go/types"
	"regexp"
	"slices"
	"strings"
)

// What is only told to people is not changed: the tests do not ask for each word.

// forPeople are the fields that hold what is told.
var forPeople = regexp.MustCompile(`^(Message|Remedy|Text|Title)$`)

// isWording says whether a function only words something: it returns a string, and formats it.
func (p *planter) isWording(decl *ast.FuncDecl) bool {
	results := decl.Type.Results
	if results == nil || len(results.List) != 1 || p.words(results.List[0].Type) != "string" {
		return false
	}
	formats := false
	ast.Inspect(decl.Body, func(node ast.Node) bool {
		if call, ok := node.(*ast.CallExpr); ok {
			name := p.words(call.Fun)
			formats = formats || strings.HasPrefix(name, "fmt.") || name == "strings.Join"
		}
		return !formats
	})
	return formats
}

// isWords says whether an expression is a text for people: it is formatted, or has blanks.
func (p *planter) isWords(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.CallExpr:
		return strings.HasPrefix(p.words(e.Fun), "fmt.")
	case *ast.BinaryExpr:
		return e.Op == token.ADD && p.is(e, types.IsString) && (p.isWords(e.X) || p.isWords(e.Y))
	case *ast.BasicLit:
		return e.Kind == token.STRING && strings.Contains(strings.TrimSpace(e.Value), " ")
	}
	return false
}

// onlyWords says whether statements do nothing but word something.
func (p *planter) onlyWords(list []ast.Stmt) bool {
	return len(list) > 0 && !slices.ContainsFunc(list, func(s ast.Stmt) bool {
		assign, ok := s.(*ast.AssignStmt)
		return !ok || !p.assignsWords(assign)
	})
}

func (p *planter) assignsWords(s *ast.AssignStmt) bool {
	if len(s.Lhs) != 1 || !p.is(s.Lhs[0], types.IsString) {
		return false
	}
	if field, ok := s.Lhs[0].(*ast.SelectorExpr); ok && forPeople.MatchString(field.Sel.Name) {
		return true
	}
	return p.isWords(s.Rhs[0])
}
