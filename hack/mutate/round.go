package main

import (
	"path"
	"slices"
	"time"
)

// round is which tests are run: those that take between two times. What a round has not killed
// goes through the next one.
type round struct{ above, upTo time.Duration }

// rounds are the tests that are fast, those that are not, and at last the model.
var rounds = []round{{-1, slow}, {slow, time.Hour}}

// slow is what a test takes that is not among the first.
const slow = 100 * time.Millisecond

// mostTogether is how long tests take that are run together.
const mostTogether = 400 * time.Millisecond

// batches are the tests of a round that come to a fault: first those that have failed for others
// of its function, then all others, the fast ones together.
func (b *bench) batches(m *mutant, r round) [][]*test {
	keenest := b.keenest(m)
	var first, others [][]*test
	for _, pkg := range testers(path.Dir(m.File)) {
		var took time.Duration
		for _, t := range b.tests[pkg] {
			switch {
			case !t.reaches[m.id] || t.took <= r.above || t.took > r.upTo:
			case slices.Contains(keenest, t.name):
				first = append(first, []*test{t})
			case len(others) == 0 || others[len(others)-1][0].pkg != pkg || took+t.took > mostTogether:
				others, took = append(others, []*test{t}), t.took
			default:
				others[len(others)-1] = append(others[len(others)-1], t)
				took += t.took
			}
		}
	}
	return append(first, others...)
}
