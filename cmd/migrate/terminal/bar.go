package terminal

import "strings"

// Bar draws a progress bar.
type Bar struct {
	Paint   Painter
	Unicode bool
}

// Draw returns a bar of the given width, filled to fraction, which is limited to the range 0 to 1.
func (b Bar) Draw(fraction float64, width int) string {
	full, empty := "=", "."
	if b.Unicode {
		full, empty = "━", "─"
	}
	filled := int(min(1, max(0, fraction))*float64(width) + 0.5)
	return b.Paint.Green(strings.Repeat(full, filled)) + b.Paint.Dim(strings.Repeat(empty, width-filled))
}
