package view

import (
	"fmt"
	"time"
)

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

// Coarse returns a duration for display while it grows, without fractions of a second.
func Coarse(d time.Duration) string {
	if d < time.Minute {
		return fmt.Sprintf("%ds", int(d.Seconds()))
	}
	return Duration(d)
}

// Ago returns the time since then for display. It is never negative, even with clock skew.
func Ago(now, then time.Time) string { return Coarse(max(0, now.Sub(then))) }

// Exact returns a duration in seconds, to the millisecond, for programs.
func Exact(d time.Duration) float64 { return d.Round(time.Millisecond).Seconds() }

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

// Count returns a number with its noun.
func Count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
