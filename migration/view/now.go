package view

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/plan"
)

// longestNow is the maximum number of characters of Now.
const longestNow = 100

// now describes the current action or wait in one short sentence.
func (r Row) now() string {
	switch text := r.Words().end(r.State); {
	case text != "":
		return text
	case r.Hold != nil && r.Hold.Message != "":
		return brief(r.Hold.Message)
	case r.Handoff != nil:
		return r.Handoff.Text() + r.beside()
	case r.State == StatePaused:
		return "paused; no ordinal is in flight"
	case r.State == StateWaiting:
		return "waiting for the manager to look at it"
	}
	return "about to begin the next ordinal"
}

// endOf returns the state of a migration that is completed for a reason.
func endOf(reason string) State {
	switch reason {
	case api.ReasonRolledBack:
		return StateRolledBack
	case api.ReasonRecovered:
		return StateRecovered
	case api.ReasonReleased:
		return StateReleased
	}
	return StateMoved
}

// Text returns the ordinal in flight and its step.
func (h Handoff) Text() string {
	return strings.TrimSuffix(fmt.Sprintf("ordinal %d: %s", h.Ordinal, StepText(h.Step)), ": ")
}

// beside names the ordinals that are in flight beside the first one; empty: none is.
func (r Row) beside() string {
	if len(r.Further) == 0 {
		return ""
	}
	ordinals := make([]int32, 0, len(r.Further))
	for _, h := range r.Further {
		ordinals = append(ordinals, h.Ordinal)
	}
	return "; also in flight: " + plan.Listed(ordinals)
}

// brief returns the first sentence of a message, short enough for a column.
func brief(message string) string {
	first, _, _ := strings.Cut(message, ". ")
	first, _, _ = strings.Cut(first, "; ")
	first = strings.TrimSuffix(strings.Join(strings.Fields(first), " "), ".")
	if utf8.RuneCountInString(first) <= longestNow {
		return first
	}
	runes := []rune(first)[:longestNow-1]
	cut := string(runes)
	if blank := strings.LastIndexByte(cut, ' '); blank > longestNow/2 {
		cut = cut[:blank]
	}
	return cut + "…"
}

// StepText returns the text of a step; empty if there is none.
func StepText(step api.Step) string {
	for _, s := range Steps() {
		if s.Name == step {
			return s.Text
		}
	}
	return ""
}

// Line returns the state of a migration in one line.
func (r Row) Line(now time.Time) string {
	words := []string{fmt.Sprintf("%d/%d %s", r.Moved, r.Total, r.Words().Did)}
	if r.Mode != api.ModeRun {
		words = append(words, "mode "+string(r.Mode))
	}
	if r.Words().end(r.State) != "" {
		return strings.Join(append(words, r.StateText()+": "+r.Now), "  ")
	}
	for _, h := range r.InFlight() {
		text := h.Text()
		if h.Down != nil {
			text += "; " + h.Down.Text(now)
		}
		words = append(words, text)
	}
	switch hold := r.Hold; {
	case hold == nil:
	case hold.Stalled:
		words = append(words, "STALLED "+hold.Reason+": "+hold.Message)
	case hold.Message != "":
		words = append(words, hold.Message)
	}
	return strings.Join(words, "  ")
}
