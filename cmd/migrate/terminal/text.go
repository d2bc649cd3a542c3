// Package terminal formats text output: colours, tables, durations, and lines that fit a width.
package terminal

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"
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

// Duration returns a short duration with a stable width: 0.4s, 12.3s, 2m05s, 1h02m.
func Duration(d time.Duration) string {
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%.1fs", d.Truncate(100*time.Millisecond).Seconds())
	case d < time.Hour:
		return fmt.Sprintf("%dm%02ds", int(d.Minutes()), int(d.Seconds())%60)
	default:
		return fmt.Sprintf("%dh%02dm", int(d.Hours()), int(d.Minutes())%60)
	}
}

// Size returns a number of bytes with a binary unit: 512 B, 1.5 KiB, 8.0 MiB.
func Size(bytes int64) string {
	const unit = 1024
	if bytes < unit {
		return fmt.Sprintf("%d B", bytes)
	}
	value, prefix := float64(bytes)/unit, 0
	for value >= unit && prefix < len("KMGTPE")-1 {
		value /= unit
		prefix++
	}
	return fmt.Sprintf("%.1f %ciB", value, "KMGTPE"[prefix])
}

// Coarse returns a duration for display while it grows, without fractions of a second.
func Coarse(d time.Duration) string {
	if d < time.Minute {
		return fmt.Sprintf("%ds", int(d.Seconds()))
	}
	return Duration(d)
}

// Count returns a number with its noun.
func Count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// Span returns a slice's range of ordinals.
func Span(start, replicas int32) string { return fmt.Sprintf("[%d,%d)", start, start+replicas) }

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
