// Package terminal formats text output: colours, tables, and lines that fit a width.
package terminal

import (
	"encoding/json"
	"io"
	"strings"
	"unicode/utf8"

	"sigs.k8s.io/yaml"
)

// Encode writes a value as JSON or YAML.
func Encode(out io.Writer, format string, value any) error {
	if format == "yaml" {
		data, err := yaml.Marshal(value)
		if err != nil {
			return err
		}
		_, err = out.Write(data)
		return err
	}
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	return encoder.Encode(value)
}

// Print writes a value as JSON or YAML if that is the format, and otherwise calls text.
func Print[T any](out io.Writer, format string, value T, text func(T) error) error {
	if format == "json" || format == "yaml" {
		return Encode(out, format, value)
	}
	return text(value)
}

// Pad pads text to a width.
func Pad(text string, width int) string {
	return text + strings.Repeat(" ", max(0, width-utf8.RuneCountInString(text)))
}

// Clip truncates text to a width.
func Clip(text string, width int) string {
	if width <= 0 || utf8.RuneCountInString(text) <= width {
		return text
	}
	const dots = "..."
	runes := []rune(text)
	if width <= len(dots) {
		return string(runes[:width])
	}
	return string(runes[:width-len(dots)]) + dots
}

// LeastWidth is the minimal width to which lines are wrapped.
const LeastWidth = 20

// Fold wraps text to a width, at blanks if possible. A width of 0 means no limit.
func Fold(text string, width int) []string {
	if width <= 0 {
		return []string{text}
	}
	var lines []string
	for _, line := range Wrap(text, width) {
		runes := []rune(line)
		for len(runes) > width {
			lines, runes = append(lines, string(runes[:width])), runes[width:]
		}
		lines = append(lines, string(runes))
	}
	return lines
}

// Wrap wraps text at blanks to a width. With little room it wraps nothing, because names are long.
func Wrap(text string, width int) []string {
	if width < LeastWidth {
		return []string{text}
	}
	var lines []string
	line := ""
	for word := range strings.SplitSeq(text, " ") {
		if line != "" && utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > width {
			lines, line = append(lines, line), ""
		} else if line != "" {
			line += " "
		}
		line += word
	}
	return append(lines, line)
}

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

// Remedy returns a remedy in the form that every screen uses.
func Remedy(text string) string { return "what to do: " + text }
