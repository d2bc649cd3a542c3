package main

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"
)

// try tries the mutants, as many as there is time for, and keeps the verdicts.
func try(ctx context.Context, o options, begin time.Time, commit string, sources []*source, mutants []*mutant) error {
	before := map[string]verdict{}
	if o.again {
		var err error
		if before, err = known(o.kept); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	bench, err := newBench(ctx, sources, len(mutants), o.model)
	if bench != nil {
		defer os.RemoveAll(bench.dir)
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
		err = judge(ctx, bench, order, begin.Add(o.budget))
		return errors.Join(err, keep(o.kept, mutants))
	}
	for n, r := range rounds {
		for i, m := range order {
			if i%500 == 0 {
				fmt.Fprintf(os.Stderr, "round %d of %d: %d of %d after %s\n", n+1, len(rounds), i, len(order), time.Since(begin).Round(time.Second))
			}
			if m.Fate == killed {
				continue
			}
			if m.verdict, err = bench.try(ctx, m, r); err != nil {
				return fmt.Errorf("%s: %w", m, err)
			}
		}
		if err := keep(o.kept, mutants); err != nil {
			return err
		}
	}
	return nil
}

// judge tries one mutant after the other until the time is over.
func judge(ctx context.Context, bench *bench, order []*mutant, until time.Time) error {
	for _, m := range order {
		if time.Now().After(until) {
			return nil
		}
		if m.Fate == killed {
			continue
		}
		for _, r := range rounds {
			v, err := bench.try(ctx, m, r)
			if err != nil {
				return fmt.Errorf("%s: %w", m, err)
			}
			if m.verdict = v; v.Fate == killed {
				break
			}
		}
	}
	return nil
}

// keep writes the verdicts beside those of earlier runs.
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

// shuffle puts the mutants in an order that depends on the commit alone.
func shuffle(mutants []*mutant, commit string) {
	hash := func(m *mutant) string {
		sum := sha256.Sum256([]byte(commit + m.key()))
		return string(sum[:])
	}
	slices.SortFunc(mutants, func(a, b *mutant) int { return strings.Compare(hash(a), hash(b)) })
}
