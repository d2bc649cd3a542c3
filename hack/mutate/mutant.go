package main

import "fmt"

// mutant is one fault: a place, and what stands there instead.
type mutant struct {
	id int
	// File, Func and the two texts name it, whatever lines are above it; Nth tells apart what is
	// the same otherwise.
	File, Func, Was, Becomes string
	Nth                      int
	Line                     int
	// why is the sentence that says why it changes nothing; empty: it changes something.
	why string
	verdict
}

// verdict is what has become of it.
type verdict struct {
	// Fate is what happened, By is the test that failed.
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

// place is the function that it is in.
func (m *mutant) place() string { return m.File + " " + m.Func }

// key names a mutant from one run to the next.
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
