package mover

import (
	"fmt"
	"io"
	"strings"
)

// times are seconds.
type times struct {
	Ours  float64 `json:"ours"`
	Rsync float64 `json:"rsync"`
	// Verifying is the part of Ours that compares both sides.
	Verifying float64 `json:"verifying"`
	// Floor is the fastest way to copy without a network and without a proof. Proven is the fastest way to copy and then
	// to read both sides, the least that a proof takes.
	Floor  float64 `json:"floor"`
	Proven float64 `json:"proven"`
}

// bound returns an error if a program was faster than the floor of all programs.
func (t times) bound() error {
	for _, rival := range []struct {
		name        string
		took, floor float64
	}{{"the mover", t.Ours, t.Proven}, {"rsync", t.Rsync, t.Floor}} {
		if rival.took < rival.floor {
			return fmt.Errorf("the floor is no lower bound: it took %.2f s and %s %.2f s, so the figures of this run mean nothing; "+
				"run it again while no other program uses this disk, and if it fails again, find a faster way for the floor", rival.floor, rival.name, rival.took)
		}
	}
	return nil
}

// factor returns how many times as long as other the rsync of these times took.
func (t times) factor(other float64) float64 { return t.Rsync / max(other, 1e-9) }

// figures are the results in the file.
type figures struct {
	// Scale divides the sizes: 1 is the full size.
	Scale int   `json:"scale"`
	Big   times `json:"big"`
	Small times `json:"small"`
	Delta times `json:"delta"`
	// Peak is the highest resident memory of a mover (VmHWM).
	Peak float64 `json:"mover_peak_mib"`
}

// show prints the figures, and reports whether each goal is met.
func (f *figures) show(out io.Writer) bool {
	good := f.Peak <= mostMemory
	for _, s := range scenes(f) {
		t := s.times
		if t.Ours == 0 {
			continue // it was not measured
		}
		factor := t.factor(t.Ours)
		good = good && factor >= s.goal
		fmt.Fprintf(out, "%-6s ours %7.2f s (%.2f s of it comparing)  rsync %7.2f s  floor %7.2f s, %.2f s with reading both sides  %.1fx, goal %.0fx, the bound allows %.1fx\n",
			s.name, t.Ours, t.Verifying, t.Rsync, t.Floor, t.Proven, factor, s.goal, t.factor(t.Proven))
	}
	fmt.Fprintf(out, "peak   %.0f MiB, goal %d MiB\n", f.Peak, mostMemory)
	return good
}

// page returns the table of the documentation.
func (f *figures) page() string {
	var b strings.Builder
	b.WriteString("| copied | the mover, s | of that proving, s | rsync, s | floor, s | floor with proof, s | rsync / mover | rsync / floor | rsync / floor with proof |\n|---|---|---|---|---|---|---|---|---|\n")
	for _, s := range scenes(f) {
		t := s.times
		fmt.Fprintf(&b, "| %s | %.2f | %.2f | %.2f | %.2f | %.2f | %.2f | %.2f | %.2f |\n",
			s.about, t.Ours, t.Verifying, t.Rsync, t.Floor, t.Proven, t.factor(t.Ours), t.factor(t.Floor), t.factor(t.Proven))
	}
	fmt.Fprintf(&b, "\nNeither mover had more than %.0f MiB in memory.", f.Peak)
	if f.Scale > 1 {
		fmt.Fprintf(&b, " This was `SCALE=%d`.", f.Scale)
	}
	return b.String() + "\n"
}

// filesFigures are the measurements with very many files.
type filesFigures struct {
	Files   int     `json:"files"`
	Seconds float64 `json:"seconds"`
	Peak    float64 `json:"mover_peak_mib"`
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
