package mover

import (
	"fmt"
	"io"
	"strings"
)

// show prints the figures, and reports whether each goal is met.
func (f *figures) show(out io.Writer, only string) bool {
	good := f.Peak <= mostMemory
	for _, s := range scenes(f) {
		if only != "" && s.name != only {
			continue
		}
		factor := s.times.Rsync / s.times.Ours
		good = good && factor >= s.goal
		fmt.Fprintf(out, "%-6s ours %7.2f s (%.2f s of it comparing)  rsync %7.2f s  floor %7.2f s  %.1fx, goal %.0fx\n", s.name, s.times.Ours, s.times.Verifying, s.times.Rsync, s.times.Floor, factor, s.goal)
	}
	fmt.Fprintf(out, "peak   %.0f MiB, goal %d MiB\n", f.Peak, mostMemory)
	return good
}

// page returns the table of the documentation.
func (f *figures) page() string {
	var b strings.Builder
	b.WriteString("| copied | the mover, s | of that proving, s | rsync, s | floor, s | rsync / mover |\n|---|---|---|---|---|---|\n")
	for _, s := range scenes(f) {
		fmt.Fprintf(&b, "| %s | %.2f | %.2f | %.2f | %.2f | %.2f |\n", s.about, s.times.Ours, s.times.Verifying, s.times.Rsync, s.times.Floor, s.times.Rsync/s.times.Ours)
	}
	fmt.Fprintf(&b, "\nNeither mover had more than %.0f MiB in memory.", f.Peak)
	if f.Scale > 1 {
		fmt.Fprintf(&b, " This was `SCALE=%d`.", f.Scale)
	}
	return b.String() + "\n"
}

// page returns the sentence of the documentation.
func (f *filesFigures) page() string {
	return fmt.Sprintf("A tree of %d empty files was copied and proven in %.0f s; neither mover had more than %.0f MiB in memory.\n", f.Files, f.Seconds, f.Peak)
}

// size formats a number of bytes.
func size(bytes int64) string {
	const gib, mib = 1 << 30, 1 << 20
	if bytes >= gib {
		return fmt.Sprintf("%d GiB", bytes/gib)
	}
	return fmt.Sprintf("%d MiB", bytes/mib)
}
