package main

import "strings"

// painter colours text, or leaves it as it is.
type painter struct{ on bool }

func (p painter) sgr(code, text string) string {
	if !p.on || text == "" {
		return text
	}
	// Each line by itself: a pager or a redraw may begin in the middle.
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		lines[i] = "\x1b[" + code + "m" + line + "\x1b[0m"
	}
	return strings.Join(lines, "\n")
}

func (p painter) bold(text string) string   { return p.sgr("1", text) }
func (p painter) dim(text string) string    { return p.sgr("2", text) }
func (p painter) red(text string) string    { return p.sgr("31", text) }
func (p painter) green(text string) string  { return p.sgr("32", text) }
func (p painter) yellow(text string) string { return p.sgr("33", text) }
