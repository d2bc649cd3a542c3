package main

import (
	"cmp"
	"slices"
	"strings"
)

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
