package terminal

import "strings"

// Bar draws how much of something is done.
type Bar struct {
	Paint   Painter
	Unicode bool
}

// Draw is the bar, so many columns wide and filled as far as fraction says, from 0 to 1; what is less or more counts as these.
func (b Bar) Draw(fraction float64, width int) string {
	full, empty := "=", "."
	if b.Unicode {
		full, empty = "━", "─"
	}
	filled := int(min(1, max(0, fraction))*float64(width) + 0.5)
	return b.Paint.Green(strings.Repeat(full, filled)) + b.Paint.Dim(strings.Repeat(empty, width-filled))
}
