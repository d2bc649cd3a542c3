package main

import (
	"cmp"
	"slices"
	"strings"
)

// place orders what is written at one offset: what ends there, what stands there, what begins.
type place int

const (
	before place = iota // the end of what is to the left
	instead
	after // the beginning of what is to the right
)

// edit puts text at an offset in place of length bytes.
type edit struct {
	at, length int
	place      place
	order      int
	text       string
}

// edits are changes of one text; whoever comes first is around those that come later.
type edits []edit

// wrap puts text around what is from begin to end.
func (e *edits) wrap(begin, end int, left, right string) {
	n := len(*e)
	*e = append(*e, edit{at: begin, place: after, order: n, text: left}, edit{at: end, place: before, order: -n, text: right})
}

// replace puts text in the place of another.
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
