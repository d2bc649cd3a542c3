package main

import (
	"fmt"
	"slices"
	"strings"
	"time"

	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
)

// bar draws the progress of a run in two lines.
type bar struct {
	paint   painter
	unicode bool
}

const (
	widestBar = 40
	slimmest  = 10
)

// steps of a handoff, in their order.
var stepOrder = []api.Step{
	api.StepGate, api.StepReserveBudget, api.StepSecureVolumes, api.StepScaleDown,
	api.StepAwaitRelease, api.StepCarryVolumes, api.StepScaleUp, api.StepAwaitReadiness,
}

func (b bar) lines(p progress, now time.Time, width int) []string {
	if width < leastWidth {
		return nil
	}
	figures := fmt.Sprintf("  %d/%d moved  %s%s", p.moved, p.total, coarse(now.Sub(p.start)), b.left(p, now))
	room := min(widestBar, width-len(figures)-3)
	first := clip(strings.TrimLeft(figures, " "), width-1)
	if room >= slimmest {
		first = "  " + b.drawn(p.fraction(), room) + b.paint.bold(figures)
	}
	second := clip("  "+b.doing(p, now), width-1)
	switch {
	case p.hold != nil && p.hold.Stalled:
		second = b.paint.red(second)
	case p.hold != nil && p.hold.Reason == api.ReasonPaused:
		second = b.paint.yellow(second)
	}
	return []string{first, second}
}

// fraction is how much is done. An ordinal on its way counts by its step.
func (p progress) fraction() float64 {
	if p.total == 0 {
		return 0
	}
	part := 0.0
	if p.ordinal != nil {
		part = float64(max(0, slices.Index(stepOrder, p.step))) / float64(len(stepOrder))
	}
	if p.back {
		part = -part
	}
	return min(1, max(0, (float64(p.moved)+part)/float64(p.total)))
}

func (b bar) drawn(fraction float64, width int) string {
	full, empty := "=", "."
	if b.unicode {
		full, empty = "━", "─"
	}
	filled := int(fraction*float64(width) + 0.5)
	return b.paint.green(strings.Repeat(full, filled)) + b.paint.dim(strings.Repeat(empty, width-filled))
}

// left estimates the time that is left by the mean of the ordinals that arrived.
func (b bar) left(p progress, now time.Time) string {
	if p.mean == 0 || p.hold != nil && (p.hold.Stalled || p.hold.Reason == api.ReasonPaused) {
		return ""
	}
	togo := p.total - p.moved
	if p.back {
		togo = p.moved
	}
	left := p.mean * time.Duration(togo)
	if p.ordinal != nil {
		left -= min(p.mean, now.Sub(p.since))
	}
	if togo <= 0 || left < time.Second {
		return ""
	}
	return "  about " + coarse(left) + " left"
}

// doing says which ordinal is where, and what is waited for.
func (b bar) doing(p progress, now time.Time) string {
	dot := " - "
	if b.unicode {
		dot = " · "
	}
	var words []string
	if p.ordinal != nil {
		words = append(words, fmt.Sprintf("ordinal %d", *p.ordinal))
		if p.step != "" {
			words = append(words, string(p.step))
		}
	}
	switch hold := p.hold; {
	case hold == nil && p.ordinal == nil:
		words = append(words, p.between())
	case hold == nil:
	case hold.Stalled:
		words = append(words, "STALLED "+coarse(now.Sub(p.holdSince)), hold.Message)
	case hold.Reason == api.ReasonPaused:
		words = append(words, "paused "+coarse(now.Sub(p.holdSince)), hold.Message)
	default:
		words = append(words, coarse(now.Sub(p.holdSince)), hold.Message)
	}
	return strings.Join(words, dot)
}

// between says what is done while no ordinal is on its way.
func (p progress) between() string {
	switch {
	case p.back && p.moved == 0, !p.back && p.moved == p.total && p.total > 0:
		return "restoring what was changed for the move"
	default:
		return "preparing"
	}
}
