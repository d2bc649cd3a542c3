// Command bench measures this product beside its alternatives: bench SCENARIO [flags]. A whole run of a scenario writes its
// figures into docs/engineering/figures.md and out. It exits with 1 if a goal is missed.
package main

import (
	"flag"
	"fmt"
	"os"

	"github.com/go-logr/logr"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/sliceshift/sliceshift/e2e/bench/handoff"
	"github.com/sliceshift/sliceshift/e2e/bench/many"
	"github.com/sliceshift/sliceshift/e2e/bench/mover"
	"github.com/sliceshift/sliceshift/e2e/bench/slices"
	"github.com/sliceshift/sliceshift/e2e/measure"
	"github.com/sliceshift/sliceshift/internal/program"
)

// scenarios declare their flags, and return their run.
var scenarios = map[string]func(*flag.FlagSet) measure.Run{
	"copy":    mover.Flags,
	"handoff": handoff.Flags,
	"many":    many.Flags,
	"slices":  slices.Flags,
}

func main() {
	if len(os.Args) < 2 || scenarios[os.Args[1]] == nil {
		fmt.Fprintln(os.Stderr, "usage: bench copy|handoff|many|slices [flags]")
		os.Exit(2)
	}
	name := os.Args[1]
	set := flag.NewFlagSet("bench "+name, flag.ExitOnError)
	run := scenarios[name](set)
	_ = set.Parse(os.Args[2:])     // it exits on an error
	ctrl.SetLogger(logr.Discard()) // log lines of libraries would mix with the progress
	program.Run(set.Name(), run)
}
