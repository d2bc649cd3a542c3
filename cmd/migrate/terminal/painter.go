package terminal

import "strings"

// Painter colours text, or leaves it unchanged.
type Painter struct {
	// On is false if text remains unchanged.
	On bool
}

func (p Painter) sgr(code, text string) string {
	if !p.On || text == "" {
		return text
	}
	// Each line has its own sequence, because a pager or a redraw may begin in the middle.
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		lines[i] = "\x1b[" + code + "m" + line + "\x1b[0m"
	}
	return strings.Join(lines, "\n")
}

// Bold formats headings.
func (p Painter) Bold(text string) string { return p.sgr("1", text) }

// Dim formats text of minor importance.
func (p Painter) Dim(text string) string { return p.sgr("2", text) }

// Red formats errors and stalls.
func (p Painter) Red(text string) string { return p.sgr("31", text) }

// Green formats success.
func (p Painter) Green(text string) string { return p.sgr("32", text) }

// Yellow formats warnings.
func (p Painter) Yellow(text string) string { return p.sgr("33", text) }
