package main

import "go/token"

// operator says what does the same as an operator, and what stands in its place: the other one,
// and for a comparison by how much that moves the bound on the right.
type operator struct {
	helper  string
	becomes token.Token
	moves   int
}

// boundaries are the comparisons whose bound is moved by one.
var boundaries = map[token.Token]operator{
	token.LSS: {"mutantLess", token.LEQ, 1},
	token.LEQ: {"mutantLessEqual", token.LSS, -1},
	token.GTR: {"mutantGreater", token.GEQ, -1},
	token.GEQ: {"mutantGreaterEqual", token.GTR, 1},
}

// opposites say the contrary.
var opposites = map[token.Token]token.Token{
	token.EQL: token.NEQ, token.NEQ: token.EQL,
	token.LSS: token.GEQ, token.GEQ: token.LSS,
	token.GTR: token.LEQ, token.LEQ: token.GTR,
}

// arithmetic are the operators on numbers.
var arithmetic = map[token.Token]operator{
	token.ADD: {helper: "mutantPlus", becomes: token.SUB},
	token.SUB: {helper: "mutantMinus", becomes: token.ADD},
	token.MUL: {helper: "mutantTimes", becomes: token.QUO},
	token.QUO: {helper: "mutantDivide", becomes: token.MUL},
	token.REM: {helper: "mutantModulo", becomes: token.MUL},
}

// assignments are those that do arithmetic.
var assignments = map[token.Token]token.Token{
	token.ADD_ASSIGN: token.SUB_ASSIGN, token.SUB_ASSIGN: token.ADD_ASSIGN,
	token.MUL_ASSIGN: token.QUO_ASSIGN, token.QUO_ASSIGN: token.MUL_ASSIGN,
	token.INC: token.DEC, token.DEC: token.INC,
}
