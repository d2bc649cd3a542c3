package main

import (
	_ "embed"
	"errors"
	"fmt"
	"go/token"
	"strings"

	"sigs.k8s.io/yaml"
)

// mutant is one fault: a place, and its replacement.
type mutant struct {
	id int
	// File, Func and the two texts identify the mutant, independently of line numbers. Nth distinguishes identical ones.
	File, Func, Was, Becomes string
	Nth                      int
	Line                     int
	// why is the reason why it has no observable effect; empty if it has one.
	why string
	verdict
}

// verdict is the result for a mutant.
type verdict struct {
	// Fate is the result, and By the test that failed.
	Fate fate
	By   string
}

type fate string

const (
	untried    fate = ""
	killed     fate = "killed"
	survived   fate = "survived"
	notReached fate = "not reached"
)

func (v verdict) alive() bool { return v.Fate == survived || v.Fate == notReached }

// place returns the function of the mutant.
func (m *mutant) place() string { return m.File + " " + m.Func }

// key identifies a mutant across runs.
func (m *mutant) key() string {
	return fmt.Sprintf("%s %s: %s -> %s #%d", m.File, m.Func, m.Was, m.Becomes, m.Nth)
}

func (m *mutant) String() string {
	return fmt.Sprintf("%s:%d: %s: %s -> %s%s", m.File, m.Line, m.Func, m.Was, m.Becomes, nth(m.Nth))
}

func nth(n int) string {
	if n == 1 {
		return ""
	}
	return fmt.Sprintf(" (%d)", n)
}

//go:embed equivalent.yaml
var equivalents []byte

// equivalent is a mutant without an observable effect, and the reason.
type equivalent struct {
	File    string `json:"file"`
	Func    string `json:"func"`
	Was     string `json:"was"`
	Becomes string `json:"becomes"`
	// Nth selects one of several identical mutants; 0 means the only one.
	Nth int    `json:"nth,omitempty"`
	Why string `json:"why"`
}

func (e equivalent) names(m *mutant) bool {
	return e.File == m.File && e.Func == m.Func && e.Was == m.Was && e.Becomes == m.Becomes && max(1, e.Nth) == m.Nth
}

// readEquivalents sets the reason of each mutant in the list. An entry without a mutant is an error: the list must
// follow the code.
func readEquivalents(mutants []*mutant, sources []*source) error {
	var list []equivalent
	if err := yaml.UnmarshalStrict(equivalents, &list); err != nil {
		return fmt.Errorf("equivalent.yaml: %w", err)
	}
	looked := map[string]bool{}
	for _, s := range sources {
		looked[s.file] = true
	}
	var wrong error
	for _, e := range list {
		if !looked[e.File] {
			continue
		}
		found := false
		for _, m := range mutants {
			if e.names(m) {
				m.why, found = e.Why, true
			}
		}
		if !found || strings.TrimSpace(e.Why) == "" {
			wrong = errors.Join(wrong, fmt.Errorf("equivalent.yaml: %s: %s: %s -> %s: there is no such mutant, or it is not said why", e.File, e.Func, e.Was, e.Becomes))
		}
	}
	return wrong
}

// operator describes the mutation of an operator. helper is a function with the same effect, and becomes the operator
// that replaces it. For a comparison, moves is by how much that shifts the bound on the right.
type operator struct {
	helper  string
	becomes token.Token
	moves   int
}

// boundaries maps comparisons whose bound is shifted by one.
var boundaries = map[token.Token]operator{
	token.LSS: {"mutantLess", token.LEQ, 1},
	token.LEQ: {"mutantLessEqual", token.LSS, -1},
	token.GTR: {"mutantGreater", token.GEQ, -1},
	token.GEQ: {"mutantGreaterEqual", token.GTR, 1},
}

// opposites maps comparisons to their negation.
var opposites = map[token.Token]token.Token{
	token.EQL: token.NEQ, token.NEQ: token.EQL,
	token.LSS: token.GEQ, token.GEQ: token.LSS,
	token.GTR: token.LEQ, token.LEQ: token.GTR,
}

// arithmetic maps the operators on numbers.
var arithmetic = map[token.Token]operator{
	token.ADD: {helper: "mutantPlus", becomes: token.SUB},
	token.SUB: {helper: "mutantMinus", becomes: token.ADD},
	token.MUL: {helper: "mutantTimes", becomes: token.QUO},
	token.QUO: {helper: "mutantDivide", becomes: token.MUL},
	token.REM: {helper: "mutantModulo", becomes: token.MUL},
}

// assignments maps assignments with arithmetic.
var assignments = map[token.Token]token.Token{
	token.ADD_ASSIGN: token.SUB_ASSIGN, token.SUB_ASSIGN: token.ADD_ASSIGN,
	token.MUL_ASSIGN: token.QUO_ASSIGN, token.QUO_ASSIGN: token.MUL_ASSIGN,
	token.INC: token.DEC, token.DEC: token.INC,
}
