package e2e

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"
)

// usable implements bench.
func (*embedded) usable(ctx context.Context) error {
	return errors.Join(parts(east).Check(ctx), parts(west).Check(ctx))
}

// renew implements bench.
func (g *embedded) renew(ctx context.Context) error {
	for _, each := range []site{east, west} {
		old := parts(each)
		fmt.Fprintf(os.Stderr, "cluster %s is made anew; logs of the old one: %s\n", old.Name(), old.KeepLogs())
		if err := old.Stop(); err != nil {
			return err
		}
	}
	return g.up(ctx)
}

// deaths implements bench. Every move goes from east to west, or stays in east.
func (g *embedded) deaths(since time.Time) []death {
	g.mu.Lock()
	defer g.mu.Unlock()
	var deaths []death
	for _, c := range g.all {
		side := map[string]string{"east": "source", "west": "destination"}[c.Name()]
		for _, d := range c.Deaths() {
			if d.Time.After(since) {
				deaths = append(deaths, death{d, side})
			}
		}
	}
	return deaths
}

// oncePerPair does something once for the two clusters, and once more when others have
// taken their place.
func oncePerPair(do func() error) func() error {
	var mu sync.Mutex
	var pair [2]site
	var err error
	return func() error {
		mu.Lock()
		defer mu.Unlock()
		if now := [2]site{east, west}; now != pair {
			pair, err = now, do()
		}
		return err
	}
}
