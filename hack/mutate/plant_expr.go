package main

import (
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"slices"
)

// expr plants faults in an expression and its parts.
func (p *planter) expr(e ast.Expr) {
	if e == nil || p.info.Types[e].IsType() {
		return
	}
	if value := p.info.Types[e].Value; value != nil {
		p.constant(e, value, 0)
		return
	}
	switch e := e.(type) {
	case *ast.UnaryExpr:
		if e.Op == token.NOT {
			p.negate(e, p.words(e.X))
		}
		p.expr(e.X)
	case *ast.BinaryExpr:
		p.binary(e)
	case *ast.CallExpr:
		p.call(e)
	case *ast.CompositeLit:
		p.literal(e)
	case *ast.FuncLit:
		p.body(e.Type, e.Body)
	case *ast.SelectorExpr:
		p.expr(e.X)
	default:
		p.parts(e)
	}
}

// parts plants faults in the parts of an expression that is not itself mutated.
func (p *planter) parts(e ast.Expr) {
	ast.Inspect(e, func(node ast.Node) bool {
		if part, ok := node.(ast.Expr); ok && node != e {
			p.expr(part)
		}
		return node == e
	})
}

// condition plants faults in a condition. A name or call is also negated.
func (p *planter) condition(e ast.Expr) {
	switch inner := e.(type) {
	case *ast.ParenExpr:
		p.condition(inner.X)
		return
	case *ast.Ident, *ast.SelectorExpr, *ast.CallExpr, *ast.IndexExpr, *ast.StarExpr:
		if p.is(e, types.IsBoolean) && p.info.Types[e].Value == nil {
			p.negate(e, "!"+p.words(e))
		}
	}
	p.expr(e)
}

func (p *planter) negate(e ast.Expr, becomes string) {
	p.around(e, "(mutantOn("+p.add(e, p.words(e), becomes)+") != (", "))")
}

func (p *planter) binary(e *ast.BinaryExpr) {
	switch {
	case e.Op == token.LAND || e.Op == token.LOR:
		p.logical(e)
	case e.Op == token.EQL || e.Op == token.NEQ:
		p.negate(e, p.turned(e))
		p.compared(e.X)
		p.compared(e.Y)
	case boundaries[e.Op].helper != "":
		p.ordered(e)
	case arithmetic[e.Op].helper != "" && p.is(e, types.IsNumeric):
		op := arithmetic[e.Op]
		p.helper(e, op, p.words(e.X)+" "+op.becomes.String()+" "+p.words(e.Y))
		p.expr(e.X)
		p.expr(e.Y)
	default:
		p.expr(e.X)
		p.expr(e.Y)
	}
}

// turned returns the negation of a comparison.
func (p *planter) turned(e *ast.BinaryExpr) string {
	return p.words(e.X) + " " + opposites[e.Op].String() + " " + p.words(e.Y)
}

// logical replaces && by || and vice versa, and removes each side.
func (p *planter) logical(e *ast.BinaryExpr) {
	other, left := token.LAND, " && !mutantOn("
	if e.Op == token.LAND {
		other, left = token.LOR, " || mutantOn("
	}
	on := "mutantOn(" + p.add(e, p.words(e), p.words(e.X)+" "+other.String()+" "+p.words(e.Y)) + ")"
	p.around(e, "("+on+" != (("+on+" != (", "))))")
	p.replace(p.offset(e.OpPos), p.offset(e.OpPos)+len(e.Op.String()), ")) "+e.Op.String()+" ("+on+" != (")
	for i, side := range []ast.Expr{e.X, e.Y} {
		if chain, ok := side.(*ast.BinaryExpr); !ok || chain.Op != e.Op {
			rest := []ast.Expr{e.Y, e.X}[i]
			p.around(side, "(("+"", ")"+left+p.add(side, p.words(e), p.words(rest))+"))")
		}
		p.condition(side)
	}
}

// ordered shifts the bound of a comparison by one, and negates it.
func (p *planter) ordered(e *ast.BinaryExpr) {
	p.negate(e, p.turned(e))
	op := boundaries[e.Op]
	p.helper(e, op, p.words(e.X)+" "+op.becomes.String()+" "+p.words(e.Y))
	// Shifting the bound equals changing an integer operand by one, so only the other direction remains.
	for i, side := range []ast.Expr{e.X, e.Y} {
		if value := p.info.Types[side].Value; value != nil {
			p.constant(side, value, op.moves*[]int{-1, 1}[i])
			continue
		}
		p.expr(side)
	}
}

// helper replaces an operator by a function that applies it, or the other operator if the switch is on.
func (p *planter) helper(e *ast.BinaryExpr, op operator, becomes string) {
	p.around(e, op.helper+"("+p.add(e, p.words(e), becomes)+", ", ")")
	p.replace(p.offset(e.OpPos), p.offset(e.OpPos)+len(e.Op.String()), ",")
}

// compared plants faults in one side of == or !=.
func (p *planter) compared(e ast.Expr) {
	literal, ok := e.(*ast.BasicLit)
	if ok && literal.Kind == token.STRING && len(literal.Value) > len(`""`) {
		if name := p.spelled(p.typeOf(e)); name != "" {
			p.around(e, "mutantZero["+name+"]("+p.add(e, p.words(e), `""`)+", ", ")")
		}
		return
	}
	p.expr(e)
}

func (p *planter) call(e *ast.CallExpr) {
	if p.isWords(e) {
		return
	}
	if name, ok := e.Fun.(*ast.Ident); ok && slices.Contains([]string{"make", "new", "panic"}, name.Name) {
		return // changing a capacity has no effect
	}
	p.expr(e.Fun)
	for _, argument := range e.Args {
		p.expr(argument)
	}
}

func (p *planter) literal(e *ast.CompositeLit) {
	for _, element := range e.Elts {
		pair, ok := element.(*ast.KeyValueExpr)
		if !ok {
			p.expr(element)
			continue
		}
		if name, ok := pair.Key.(*ast.Ident); ok && forPeople.MatchString(name.Name) {
			continue
		}
		if _, ok := p.typeOf(e).Underlying().(*types.Map); ok {
			p.expr(pair.Key)
		}
		p.expr(pair.Value)
	}
}

// constant changes a boolean, an integer or a duration. It skips the step without, which another fault covers.
func (p *planter) constant(e ast.Expr, value constant.Value, without int) {
	t := p.typeOf(e)
	switch {
	case value.Kind() == constant.Bool:
		becomes := "true"
		if constant.BoolVal(value) {
			becomes = "false"
		}
		p.negate(e, becomes)
	case !p.is(e, types.IsInteger) || isCharacter(e) || p.spelled(t) == "":
	case types.TypeString(t, nil) == "time.Duration":
		if constant.Sign(value) != 0 {
			p.scaled(e, "2", p.words(e)+" * 2")
			p.scaled(e, "0", "0")
		}
	case isNamed(e) && types.Default(t).Underlying() != types.Default(t):
		// a value of an enumeration
	default:
		if without != 1 {
			p.added(e, "1", p.words(e)+" + 1")
		}
		if without != -1 && !p.is(e, types.IsUnsigned) {
			p.added(e, "-1", p.words(e)+" - 1")
		}
	}
}

func (p *planter) scaled(e ast.Expr, by, becomes string) {
	p.around(e, "mutantScale["+p.spelled(p.typeOf(e))+"]("+p.add(e, p.words(e), becomes)+", "+by+", ", ")")
}

func (p *planter) added(e ast.Expr, by, becomes string) {
	p.around(e, "mutantAdd["+p.spelled(p.typeOf(e))+"]("+p.add(e, p.words(e), becomes)+", "+by+", ", ")")
}

func isCharacter(e ast.Expr) bool {
	literal, ok := e.(*ast.BasicLit)
	return ok && literal.Kind != token.INT
}

func isNamed(e ast.Expr) bool {
	switch e.(type) {
	case *ast.Ident, *ast.SelectorExpr:
		return true
	}
	return false
}
