package main

import "fmt"

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
