package progress

import (
	"time"
	"unicode/utf8"

	tea "charm.land/bubbletea/v2"

	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
)

// words are the orders that a person can type, in the order of the help.
var words = []struct {
	text string
	mode api.Mode
}{{"pause", api.ModePause}, {"resume", api.ModeRun}, {"rollback", api.ModeRollback}}

const (
	// mostTyped bounds a line: no order and no name is longer.
	mostTyped = 253
	// tooSoon is faster than a person reads a question: what is typed within that time was typed before it, or pasted.
	tooSoon = 500 * time.Millisecond
)

// orders reads the line that a person types below a live display, and queues the modes that its words write. An order that turns
// the move round is confirmed by the name of the migration. Pasted text orders nothing.
type orders struct {
	// write writes a mode; nil: nothing can be ordered.
	write func(api.Mode) error
	// name is that of the migration.
	name string
	line string
	// asks is the order that waits for the name since asked; empty: none does.
	asks  api.Mode
	asked time.Time
	// writing is on its way to the API server, and next is written after it; empty: nothing is.
	writing, next api.Mode
	says          string
}

// wordOf is the order that writes a mode.
func wordOf(mode api.Mode) string {
	for _, word := range words {
		if word.mode == mode {
			return word.text
		}
	}
	return string(mode)
}

// key takes one key. back is true while ordinals go back to the source.
func (o orders) key(key tea.Key, now time.Time, back bool) (orders, tea.Cmd) {
	if o.asks != "" && now.Sub(o.asked) < tooSoon {
		o.asks, o.line = "", ""
		o.says = "not confirmed: that was typed before the question"
		return o, nil
	}
	switch {
	case key.Code == tea.KeyEnter && key.Mod == 0:
		return o.enter(now, back)
	case key.Code == tea.KeyEscape, key.Mod&^tea.ModShift != 0:
		o.line, o.asks, o.says = "", "", ""
	case key.Code == tea.KeyBackspace:
		_, size := utf8.DecodeLastRuneInString(o.line)
		o.line = o.line[:len(o.line)-size]
	case len(o.line) <= mostTyped:
		o.line += key.Text
	}
	return o, nil
}

// pasted drops the line that text was pasted into.
func (o orders) pasted() orders {
	o.line, o.asks, o.says = "", "", "pasted text is no order: type it"
	return o
}

// enter takes the line: an order, or the name that confirms one.
func (o orders) enter(now time.Time, back bool) (orders, tea.Cmd) {
	line, asks := o.line, o.asks
	o.line, o.asks, o.says = "", "", ""
	if asks != "" {
		if line != o.name {
			o.says = wordOf(asks) + " is not confirmed: that is not " + o.name
			return o, nil
		}
		return o.order(asks)
	}
	for _, word := range words {
		switch {
		case line != word.text:
		case word.mode == api.ModeRollback && !back, word.mode == api.ModeRun && back:
			o.asks, o.asked = word.mode, now
			return o, nil
		default:
			return o.order(word.mode)
		}
	}
	if line != "" {
		o.says = "no such order"
	}
	return o, nil
}

// question is what the name confirms.
func (o orders) question() string {
	turn := "every ordinal goes back to the source"
	if o.asks == api.ModeRun {
		turn = "the rollback ends, and ordinals go to the destination again"
	}
	return turn + ": type " + o.name + " and Enter"
}

// order writes a mode, or queues it behind the one that is being written: of several that wait the last one counts.
func (o orders) order(mode api.Mode) (orders, tea.Cmd) {
	if o.writing != "" {
		o.next = mode
		o.says = wordOf(mode) + " follows " + wordOf(o.writing)
		return o, nil
	}
	o.writing, o.says = mode, "writing mode "+string(mode)
	write := o.write
	return o, func() tea.Msg { return steeredMsg{mode, write(mode)} }
}

// written notes what became of an order, and begins the next one.
func (o orders) written(done steeredMsg) (orders, tea.Cmd) {
	o.writing, o.says = "", "mode "+string(done.mode)+" is written"
	if done.err != nil {
		o.says = "mode " + string(done.mode) + " is not written: " + done.err.Error()
	}
	if next := o.next; next != "" {
		o.next = ""
		return o.order(next)
	}
	return o, nil
}

// unwritten is the last order whose end is not known; empty: there is none.
func (o orders) unwritten() api.Mode {
	if o.next != "" {
		return o.next
	}
	return o.writing
}
