package main

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path"
	"runtime"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
)

// try tries as many mutants as there is time for, and stores the verdicts.
func try(ctx context.Context, o options, begin time.Time, commit string, sources []*source, mutants []*mutant) error {
	before := map[string]verdict{}
	if o.again {
		var err error
		if before, err = known(o.kept); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	bench, err := newBench(ctx, sources, len(mutants), o)
	if bench != nil {
		defer os.RemoveAll(bench.Dir)
	}
	if err != nil {
		return err
	}
	order := slices.Clone(mutants)
	if o.budget > 0 {
		shuffle(order, commit)
	}
	for _, m := range order {
		m.verdict = before[m.key()]
	}
	if o.budget > 0 {
		until := begin.Add(o.budget)
		if soonest := time.Now().Add(trying); until.Before(soonest) {
			until = soonest
		}
		err = judge(ctx, bench, order, until)
		return errors.Join(err, keep(o.kept, mutants))
	}
	asked := rounds
	if o.fast {
		asked = rounds[:1]
	}
	for n, r := range asked {
		if n > 0 {
			// An equivalent mutant would need all slow tests to confirm that once more.
			order = slices.DeleteFunc(order, func(m *mutant) bool { return m.why != "" })
		}
		if err := tryRound(ctx, bench, order, r, fmt.Sprintf("round %d of %d", n+1, len(asked)), begin); err != nil {
			return err
		}
		if err := keep(o.kept, mutants); err != nil {
			return err
		}
	}
	return nil
}

// trying is the minimal time for trying faults, however long the build took.
const trying = time.Minute

// tryRound runs the tests of a round for each mutant that is not killed yet, on all processors.
func tryRound(ctx context.Context, bench *bench, order []*mutant, r round, name string, begin time.Time) error {
	all, ctx := errgroup.WithContext(ctx)
	all.SetLimit(runtime.NumCPU())
	for i, m := range order {
		if i%500 == 0 {
			fmt.Fprintf(os.Stderr, "%s: %d of %d after %s\n", name, i, len(order), time.Since(begin).Round(time.Second))
		}
		if m.Fate == killed {
			continue
		}
		all.Go(func() error { return bench.judge(ctx, m, r) })
	}
	return all.Wait()
}

// judge runs the tests of a round for a mutant.
func (b *bench) judge(ctx context.Context, m *mutant, r round) error {
	v, err := b.try(ctx, m, r)
	if err != nil {
		return fmt.Errorf("%s: %w", m, err)
	}
	m.verdict = v
	return nil
}

// judge tries mutants, on all processors, until the time is over.
func judge(ctx context.Context, bench *bench, order []*mutant, until time.Time) error {
	all, ctx := errgroup.WithContext(ctx)
	all.SetLimit(runtime.NumCPU())
	for _, m := range order {
		if m.Fate == killed {
			continue
		}
		all.Go(func() error {
			for n, r := range rounds {
				if m.Fate == killed || n > 0 && m.why != "" || time.Now().After(until) {
					return nil
				}
				if err := bench.judge(ctx, m, r); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return all.Wait()
}

// keep writes the verdicts, together with those of earlier runs.
func keep(file string, mutants []*mutant) error {
	all, err := known(file)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	for _, m := range mutants {
		if m.Fate != untried {
			all[m.key()] = m.verdict
		}
	}
	return writeJSON(file, all)
}

// shuffle orders the mutants depending only on the commit.
func shuffle(mutants []*mutant, commit string) {
	hash := func(m *mutant) string {
		sum := sha256.Sum256([]byte(commit + m.key()))
		return string(sum[:])
	}
	slices.SortFunc(mutants, func(a, b *mutant) int { return strings.Compare(hash(a), hash(b)) })
}

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
