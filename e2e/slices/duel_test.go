package slices

import (
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/sliceshift/sliceshift/e2e/duel"
	"github.com/sliceshift/sliceshift/e2e/harness"
)

const (
	duelFor     = "SLICESHIFT_DUEL"
	duelSeed    = "SLICESHIFT_DUEL_SEED"
	duelScripts = "SLICESHIFT_DUEL_SCRIPTS"
	duelLanes   = "SLICESHIFT_DUEL_LANES"
)

// TestDuel: see package duel.
func TestDuel(t *testing.T) {
	t.Parallel()
	if err := controller(); err != nil {
		t.Fatal(err)
	}
	options := duelOptions(t)
	t.Logf("%s with %s=%d", options.For, duelSeed, options.Seed)
	report, err := duel.Run(t.Context(), one, options)
	t.Log(report.Table())
	if err != nil {
		t.Fatalf("%d scripts have failed; each is played again with its seed and SCRIPTS=1", report.Failed)
	}
	harness.WriteFigures(t, "duel", report.Page(options.Seed))
}

func duelOptions(t *testing.T) duel.Options {
	t.Helper()
	o := duel.Options{For: 20 * time.Second, Seed: 1, Lanes: 4, Say: func(text string) { t.Log(text) }}
	var err error
	if text := os.Getenv(duelFor); text != "" {
		if o.For, err = time.ParseDuration(text); err != nil {
			t.Fatal(err)
		}
	}
	for name, number := range map[string]*int{duelSeed: &o.Seed, duelScripts: &o.Scripts, duelLanes: &o.Lanes} {
		if text := os.Getenv(name); text != "" {
			if *number, err = strconv.Atoi(text); err != nil {
				t.Fatal(err)
			}
		}
	}
	return o
}
