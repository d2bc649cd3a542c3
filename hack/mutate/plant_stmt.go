package main

import (
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
)

// removed stands for a removed statement.
const removed = "(nothing)"

func (p *planter) statements(list []ast.Stmt) {
	for _, s := range list {
		p.statement(s)
	}
}

// statement plants faults in a statement of a list.
func (p *planter) statement(s ast.Stmt) {
	switch s := s.(type) {
	case *ast.ExprStmt:
		if call, ok := s.X.(*ast.CallExpr); ok && !p.isWords(call) && p.words(call.Fun) != "panic" {
			p.remove(s, p.words(s))
			p.expr(call)
		}
	case *ast.DeferStmt:
		p.remove(s, p.words(s))
		p.expr(s.Call)
	case *ast.AssignStmt:
		p.assign(s)
	case *ast.IncDecStmt:
		p.remove(s, p.words(s))
		p.otherwise(s, p.words(s.X)+assignments[s.Tok].String())
	case *ast.DeclStmt:
		for _, spec := range s.Decl.(*ast.GenDecl).Specs {
			if values, ok := spec.(*ast.ValueSpec); ok && s.Decl.(*ast.GenDecl).Tok == token.VAR {
				p.exprs(values.Values)
			}
		}
	case *ast.ReturnStmt:
		p.returned(s)
	case *ast.BranchStmt:
		p.branch(s)
	case *ast.BlockStmt:
		p.statements(s.List)
	case *ast.LabeledStmt:
		p.control(s.Stmt)
	default:
		p.control(s)
	}
}

// control plants faults in a control statement.
func (p *planter) control(s ast.Stmt) {
	switch s := s.(type) {
	case *ast.IfStmt:
		p.branches(s)
	case *ast.ForStmt:
		p.loops(s)
	case *ast.RangeStmt:
		p.remove(s, "for range "+p.words(s.X))
		p.expr(s.X)
		p.within(loop, s.Body.List)
	case *ast.SwitchStmt:
		p.choices(s)
	case *ast.TypeSwitchStmt:
		for _, clause := range s.Body.List {
			p.within(choice, clause.(*ast.CaseClause).Body)
		}
	}
}

// within plants faults in statements that a break leaves.
func (p *planter) within(what breakable, list []ast.Stmt) {
	outer := p.inner
	p.inner = what
	p.statements(list)
	p.inner = outer
}

func (p *planter) exprs(list []ast.Expr) {
	for _, e := range list {
		p.expr(e)
	}
}

// remove plants the removal of a statement.
func (p *planter) remove(s ast.Stmt, was string) {
	p.around(s, "if !mutantOn("+p.add(s, was, removed)+") { ", " }")
}

// otherwise plants the replacement of a statement.
func (p *planter) otherwise(s ast.Stmt, other string) {
	p.around(s, "if mutantOn("+p.add(s, p.words(s), other)+") { "+other+" } else { ", " }")
}

func (p *planter) assign(s *ast.AssignStmt) {
	if p.assignsWords(s) {
		return
	}
	if s.Tok != token.DEFINE && !isBlank(s.Lhs) {
		p.remove(s, p.words(s))
	}
	if other, found := assignments[s.Tok]; found && p.is(s.Lhs[0], types.IsNumeric) {
		p.otherwise(s, p.words(s.Lhs[0])+" "+other.String()+" "+p.words(s.Rhs[0]))
	}
	for _, e := range s.Lhs {
		if index, ok := e.(*ast.IndexExpr); ok {
			p.expr(index.Index)
		}
	}
	p.exprs(s.Rhs)
}

func isBlank(list []ast.Expr) bool {
	for _, e := range list {
		if name, ok := e.(*ast.Ident); !ok || name.Name != "_" {
			return false
		}
	}
	return true
}

// simple plants faults in the init statement of a condition.
func (p *planter) simple(s ast.Stmt) {
	if assign, ok := s.(*ast.AssignStmt); ok {
		p.exprs(assign.Rhs)
	}
}

func (p *planter) branches(s *ast.IfStmt) {
	if s.Else == nil && p.onlyWords(s.Body.List) {
		return
	}
	p.simple(s.Init)
	p.never(s.Cond, "if "+p.words(s.Cond), "if false")
	p.condition(s.Cond)
	p.statements(s.Body.List)
	switch other := s.Else.(type) {
	case *ast.BlockStmt:
		p.statements(other.List)
	case *ast.IfStmt:
		p.branches(other)
	}
}

// never plants a condition that is never true.
func (p *planter) never(e ast.Expr, was, becomes string) {
	p.around(e, "((", ") && !mutantOn("+p.add(e, was, becomes)+"))")
}

func (p *planter) loops(s *ast.ForStmt) {
	p.simple(s.Init)
	if s.Cond == nil {
		p.within(endless, s.Body.List)
		return
	}
	p.remove(s, "for "+p.words(s.Cond))
	p.condition(s.Cond)
	p.within(loop, s.Body.List)
}

func (p *planter) choices(s *ast.SwitchStmt) {
	p.simple(s.Init)
	if s.Tag != nil {
		p.expr(s.Tag)
	}
	for _, clause := range s.Body.List {
		clause := clause.(*ast.CaseClause)
		for _, e := range clause.List {
			if s.Tag == nil {
				p.never(e, "case "+p.words(e), "case false")
				p.condition(e)
				continue
			}
			p.other(e)
		}
		p.within(choice, clause.Body)
	}
}

// other plants a case that never matches.
func (p *planter) other(e ast.Expr) {
	value := p.info.Types[e].Value
	switch {
	case value == nil:
		p.expr(e)
	case value.Kind() == constant.String:
		p.around(e, "mutantNoString("+p.add(e, "case "+p.words(e), "case false")+", ", ")")
	case p.is(e, types.IsInteger):
		p.around(e, "mutantNoNumber("+p.add(e, "case "+p.words(e), "case false")+", ", ")")
	}
}

// branch replaces break by continue and vice versa.
func (p *planter) branch(s *ast.BranchStmt) {
	if s.Label != nil || p.inner != loop {
		return
	}
	if s.Tok == token.BREAK {
		p.otherwise(s, "continue")
	}
	if s.Tok == token.CONTINUE {
		p.otherwise(s, "break")
	}
}

// returned replaces each result by its zero value.
func (p *planter) returned(s *ast.ReturnStmt) {
	for i, e := range s.Results {
		if len(s.Results) == len(p.results) && !p.isZero(e) && !p.isWords(e) {
			p.around(e, "mutantZero["+p.results[i]+"]("+p.add(e, "return "+p.words(e), "return zero for "+p.words(e))+", ", ")")
		}
		p.expr(e)
	}
}

// isZero reports whether an expression is a zero value, or a constant that other faults change.
func (p *planter) isZero(e ast.Expr) bool {
	tv := p.info.Types[e]
	if tv.IsNil() {
		return true
	}
	if tv.Value != nil {
		return tv.Value.Kind() != constant.String || constant.StringVal(tv.Value) == ""
	}
	literal, ok := e.(*ast.CompositeLit)
	return ok && len(literal.Elts) == 0
}
