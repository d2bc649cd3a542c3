package terminal

import "strings"

// Painter colours text, or leaves it as it is.
type Painter struct {
	// On is false where text stays as it is.
	On bool
}

func (p Painter) sgr(code, text string) string {
	if !p.On || text == "" {
		return text
	}
	// Each line by itself: a pager or a redraw may begin in the middle.
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		lines[i] = "\x1b[" + code + "m" + line + "\x1b[0m"
	}
	return strings.Join(lines, "\n")
}

// Bold is for headings.
func (p Painter) Bold(text string) string { return p.sgr("1", text) }

// Dim is for what may be passed over.
func (p Painter) Dim(text string) string { return p.sgr("2", text) }

// Red is for errors and stalls.
func (p Painter) Red(text string) string { return p.sgr("31", text) }

// Green is for success.
func (p Painter) Green(text string) string { return p.sgr("32", text) }

// Yellow is for warnings.
func (p Painter) Yellow(text string) string { return p.sgr("33", text) }
