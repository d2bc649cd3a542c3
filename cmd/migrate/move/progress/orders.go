package progress

import (
	"time"
	"unicode/utf8"

	tea "charm.land/bubbletea/v2"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/view"
)

// words lists the commands that a user can type, in the order of the help.
var words = []struct {
	text string
	mode api.Mode
}{{"pause", api.ModePause}, {"resume", api.ModeRun}, {"rollback", api.ModeRollback}}

const (
	// mostTyped limits the length of a line; no command and no name is longer.
	mostTyped = 253
	// tooSoon is shorter than the time to read a question. Input within that time was typed before the question, or
	// pasted.
	tooSoon = 500 * time.Millisecond
)

// orders reads the line that a user types below a live display, and queues the modes of its commands. A command that
// reverses the move is confirmed by the name of the migration. Pasted text has no effect.
type orders struct {
	// write writes a mode; nil if the display is read-only.
	write func(api.Mode) error
	// name is the name of the migration.
	name string
	line string
	// asks is the mode that waits for the name since asked; empty if there is none.
	asks  api.Mode
	asked time.Time
	// writing is the mode that is being written, and next the mode to write after it. They are empty if there is none.
	writing, next api.Mode
	says          string
}

// wordOf returns the command that writes a mode.
func wordOf(mode api.Mode) string {
	for _, word := range words {
		if word.mode == mode {
			return word.text
		}
	}
	return string(mode)
}

// key handles one key. back is true while ordinals return to the source.
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

// pasted discards the line that text was pasted into.
func (o orders) pasted() orders {
	o.line, o.asks, o.says = "", "", "pasted text is no order: type it"
	return o
}

// enter handles the line: a command, or the name that confirms it.
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

// question returns the question that the name confirms.
func (o orders) question(words view.Words) string {
	turn := words.Back
	if o.asks == api.ModeRun {
		turn = "the rollback ends, " + words.Forward
	}
	return turn + ": type " + o.name + " and Enter"
}

// order writes a mode, or queues it after the one that is being written. Only the last queued mode is written.
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

// written records the result of a write, and begins the next one.
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

// unwritten returns the last mode whose result is not known, or an empty mode.
func (o orders) unwritten() api.Mode {
	if o.next != "" {
		return o.next
	}
	return o.writing
}
