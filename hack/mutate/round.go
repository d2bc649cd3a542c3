package main

import (
	"path"
	"slices"
	"time"
)

// round selects the tests whose duration is between two limits. Mutants that survive a round go through the next one.
type round struct{ above, upTo time.Duration }

// rounds are the fast tests, and then the slow ones, which include the model.
var rounds = []round{{-1, slow}, {slow, time.Hour}}

// slow is the limit between fast and slow tests.
const slow = 100 * time.Millisecond

// mostTogether is the maximal total duration of tests that run together.
const mostTogether = 400 * time.Millisecond

// batches returns the tests of a round that reach a fault: first those that have failed for other faults of its
// function, and then all others, the fast ones together.
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
