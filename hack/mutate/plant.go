package main

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strconv"
	"strings"
)

// planter creates the faults of one file, each behind a switch. Enclosing faults are written first.
type planter struct {
	*source
	edits
	mutants *[]*mutant
	seen    map[string]int
	// function is the name of the current function, and results holds its result types.
	function string
	results  []string
	// inner is the statement that a break would leave.
	inner breakable
}

type breakable int

const (
	nothing breakable = iota
	loop
	endless
	choice
)

// plantAll creates the faults of all sources.
func plantAll(sources []*source) ([]*mutant, error) {
	var mutants []*mutant
	for _, s := range sources {
		p := &planter{source: s, mutants: &mutants, seen: map[string]int{}}
		for _, decl := range s.tree.Decls {
			p.declaration(decl)
		}
		s.planted = p.apply(s.text)
	}
	if len(mutants) == 0 {
		return nil, fmt.Errorf("no fault can be planted in %d files", len(sources))
	}
	return mutants, nil
}

func (p *planter) declaration(decl ast.Decl) {
	switch decl := decl.(type) {
	case *ast.FuncDecl:
		if decl.Body == nil || p.isWording(decl) {
			return
		}
		p.function = functionName(decl)
		p.body(decl.Type, decl.Body)
	case *ast.GenDecl:
		if decl.Tok != token.VAR {
			return
		}
		for _, spec := range decl.Specs {
			spec := spec.(*ast.ValueSpec)
			p.function = spec.Names[0].Name
			for _, value := range spec.Values {
				p.expr(value)
			}
		}
	}
}

// body plants faults in a function, which may be nested.
func (p *planter) body(signature *ast.FuncType, body *ast.BlockStmt) {
	results, inner := p.results, p.inner
	p.results, p.inner = nil, nothing
	if signature.Results != nil {
		for _, field := range signature.Results.List {
			for range max(1, len(field.Names)) {
				p.results = append(p.results, p.words(field.Type))
			}
		}
	}
	p.statements(body.List)
	p.results, p.inner = results, inner
}

func functionName(decl *ast.FuncDecl) string {
	if decl.Recv == nil {
		return decl.Name.Name
	}
	receiver := decl.Recv.List[0].Type
	if star, ok := receiver.(*ast.StarExpr); ok {
		receiver = star.X
	}
	if name, ok := receiver.(*ast.Ident); ok {
		return name.Name + "." + decl.Name.Name
	}
	return decl.Name.Name
}

// add records a fault and returns the number of its switch.
func (p *planter) add(node ast.Node, was, becomes string) string {
	m := &mutant{id: len(*p.mutants) + 1, File: p.file, Func: p.function, Was: was, Becomes: becomes, Line: p.set.Position(node.Pos()).Line}
	m.Nth = 1
	p.seen[m.key()]++
	m.Nth = p.seen[m.key()]
	*p.mutants = append(*p.mutants, m)
	return strconv.Itoa(m.id)
}

// around puts a fault's switch around a node.
func (p *planter) around(node ast.Node, left, right string) {
	p.wrap(p.offset(node.Pos()), p.offset(node.End()), left, right)
}

func (p *planter) offset(pos token.Pos) int { return p.set.Position(pos).Offset }

// words returns the text of a node in one line.
func (p *planter) words(node ast.Node) string {
	return strings.Join(strings.Fields(string(p.text[p.offset(node.Pos()):p.offset(node.End())])), " ")
}

// typeOf returns the type of an expression, or nil if it has none.
func (p *planter) typeOf(e ast.Expr) types.Type {
	if tv, found := p.info.Types[e]; found {
		return tv.Type
	}
	if name, ok := e.(*ast.Ident); ok && p.info.Uses[name] != nil {
		return p.info.Uses[name].Type()
	}
	return nil
}

// is reports whether an expression has a type of a kind.
func (p *planter) is(e ast.Expr, kind types.BasicInfo) bool {
	t := p.typeOf(e)
	if t == nil {
		return false
	}
	basic, ok := t.Underlying().(*types.Basic)
	return ok && basic.Info()&kind != 0
}

// spelled returns a type as written in this file, or an empty string if that is impossible.
func (p *planter) spelled(t types.Type) string {
	known := true
	text := types.TypeString(types.Default(t), func(other *types.Package) string {
		if other == p.pkg {
			return ""
		}
		for _, i := range p.tree.Imports {
			if name, err := strconv.Unquote(i.Path.Value); err == nil && name == other.Path() {
				if i.Name != nil {
					return i.Name.Name
				}
				return other.Name()
			}
		}
		known = false
		return ""
	})
	if !known {
		return ""
	}
	return text
}

// place orders texts at one offset: first the end of a node, then replacements, then the beginning of a node.
type place int

const (
	before place = iota // the end of the node on the left
	instead
	after // the beginning of the node on the right
)

// edit puts text at an offset in place of length bytes.
type edit struct {
	at, length int
	place      place
	order      int
	text       string
}

// edits holds the changes of one text. An earlier wrap encloses later ones.
type edits []edit

// wrap puts text around the range from begin to end.
func (e *edits) wrap(begin, end int, left, right string) {
	n := len(*e)
	*e = append(*e, edit{at: begin, place: after, order: n, text: left}, edit{at: end, place: before, order: -n, text: right})
}

// replace replaces the range from begin to end by text.
func (e *edits) replace(begin, end int, text string) {
	*e = append(*e, edit{at: begin, length: end - begin, place: instead, text: text})
}

// apply returns the text with all edits.
func (e edits) apply(text []byte) string {
	sorted := slices.SortedStableFunc(slices.Values(e), func(a, b edit) int {
		return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.place, b.place), cmp.Compare(a.order, b.order))
	})
	var b strings.Builder
	at := 0
	for _, one := range sorted {
		b.Write(text[at:one.at])
		b.WriteString(one.text)
		at = one.at + one.length
	}
	b.Write(text[at:])
	return b.String()
}
