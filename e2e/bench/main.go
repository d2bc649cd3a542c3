// Command bench measures this product beside its alternatives: bench SCENARIO [flags]. A whole run of a scenario writes its
// figures into docs/engineering/figures.md and out. It exits with 1 if a goal is missed.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"

	"github.com/go-logr/logr"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/sliceshift/sliceshift/e2e/bench/downtime"
	"github.com/sliceshift/sliceshift/e2e/bench/handoff"
	"github.com/sliceshift/sliceshift/e2e/bench/inflight"
	"github.com/sliceshift/sliceshift/e2e/bench/many"
	"github.com/sliceshift/sliceshift/e2e/bench/mover"
	"github.com/sliceshift/sliceshift/e2e/bench/slices"
	"github.com/sliceshift/sliceshift/e2e/measure"
	"github.com/sliceshift/sliceshift/internal/program"
)

// scenarios declare their flags.
var scenarios = map[string]func(*flag.FlagSet) *measure.Scenario{
	"copy":       mover.Scenario,
	"copy-files": mover.FilesScenario,
	"downtime":   downtime.Scenario,
	"evacuate":   many.EvacuateScenario,
	"handoff":    handoff.Scenario,
	"inflight":   inflight.Scenario,
	"many":       many.Scenario,
	"slices":     slices.Scenario,
}

func main() {
	if len(os.Args) < 2 || scenarios[os.Args[1]] == nil {
		fmt.Fprintln(os.Stderr, "usage: bench copy|copy-files|downtime|evacuate|handoff|inflight|many|slices [flags]")
		os.Exit(2)
	}
	set := flag.NewFlagSet("bench "+os.Args[1], flag.ExitOnError)
	only := set.String("only", "", "measure one part only, and write no file")
	scenario := scenarios[os.Args[1]](set)
	_ = set.Parse(os.Args[2:])     // it exits on an error
	ctrl.SetLogger(logr.Discard()) // log lines of libraries would mix with the progress
	program.Run(set.Name(), func(ctx context.Context) error { return scenario.Run(ctx, *only) })
}
