package main

import (
	"go/ast"
	"go/token"
	"go/types"
	"regexp"
	"slices"
	"strings"
)

// Texts for users are not mutated, because tests do not check every word.

// forPeople matches fields that hold texts for users.
var forPeople = regexp.MustCompile(`^(Message|Remedy|Text|Title)$`)

// isWording reports whether a function only formats a text: it returns a string, and formats it.
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

// isWords reports whether an expression is a text for users: it is formatted, or has blanks.
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

// onlyWords reports whether statements only assign texts.
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
