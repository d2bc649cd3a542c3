package main

import "go/token"

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
