package main

import (
	"fmt"
	"math"
	"strings"

	"github.com/sliceshift/sliceshift/e2e/harness"
	"github.com/sliceshift/sliceshift/e2e/kind/stage"
	"github.com/sliceshift/sliceshift/internal/figures"
)

// publish prints the figures of the rehearsal. It writes them into the documentation if they are wanted there.
func (h *rehearsal) publish(r stage.Result) error {
	text := h.figures(r)
	fmt.Printf("\n%s\n", text)
	if !harness.WantsFigures() {
		return nil
	}
	return figures.Write("e2e-rehearsal", text)
}

// figures returns the text of the figures, in Markdown.
func (h *rehearsal) figures(r stage.Result) string {
	var out strings.Builder
	out.WriteString("| clients of the source | writes/s | p50, ms | p99, ms | longest time without a write, s |\n|---|---|---|---|---|\n")
	for _, phase := range []string{"before", "rehearsing", "moving"} {
		f := r.Figure(phase)
		fmt.Fprintf(&out, "| %s | %.0f | %.1f | %.1f | %.2f |\n", phase, f.WritesPerSecond, f.P50, f.P99, f.Gap)
	}
	c, before, during := h.compared, r.Figure("before").P99, r.Figure("rehearsing").P99
	fmt.Fprintf(&out, "\nThe p99 of acknowledged writes was %+.0f %% during the rehearsal. The machine's load was %s.\n", math.Round((during-before)/before*100), r.Load)
	out.WriteString("\n| | rehearsed, s | moved, s | difference |\n|---|---|---|---|\n")
	fmt.Fprintf(&out, "| start of a pod | %.1f | %.1f | %+.0f %% |\n", c.StartSeconds, *c.MovedStartSeconds, (*c.MovedStartSeconds-c.StartSeconds)/c.StartSeconds*100)
	fmt.Fprintf(&out, "| an ordinal is down | %.1f | %.1f | %+.0f %% |\n", c.ExpectedSeconds, *c.DownSeconds, *c.DifferencePercent)
	out.WriteString("\n| packets of pods of a rehearsal | without the NetworkPolicy | behind it, to the outside | of these passed |\n|---|---|---|---|\n")
	for _, row := range []struct {
		name string
		p    packets
	}{{"no engine: refused", h.open}, {"an engine that learns of pods too late: refused", h.late}, {"an engine that holds from the start", h.isolated}} {
		fmt.Fprintf(&out, "| %s | %d | %d | %d |\n", row.name, row.p.control, row.p.tried, row.p.left)
	}
	return out.String()
}
