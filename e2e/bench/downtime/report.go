package downtime

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/sliceshift/sliceshift/e2e/measure"
)

// agreement is the largest difference in seconds between the outage of a watch and the one that a Migration records.
const agreement = 0.5

// byAttach is a figure for each time that a disk takes to be attached or detached.
type byAttach struct {
	AtOnce     float64 `json:"attach_0"`
	TwoSeconds float64 `json:"attach_2"`
}

// of returns the figure for a time.
func (f *byAttach) of(attach time.Duration) *float64 {
	if attach == 0 {
		return &f.AtOnce
	}
	return &f.TwoSeconds
}

// outages are the median outages of a scene in seconds; 0: not measured.
type outages struct {
	Seconds      byAttach `json:"seconds"`
	RestartFloor byAttach `json:"restart_floor"`
	Script       byAttach `json:"script"`
}

// figures are the results in the file.
type figures struct {
	Cores   int     `json:"cores"`
	Seconds float64 `json:"seconds"`
	// LargeMiB is the size of the data of the large scene.
	LargeMiB int64 `json:"copy_large_mib"`

	Rebind    outages `json:"rebind"`
	CopySmall outages `json:"copy_small"`
	CopyLarge outages `json:"copy_large"`
	Snapshot  outages `json:"snapshot"`

	// Disagreement is the largest difference between an outage that was watched and the one that the Migration records,
	// of Moves moves.
	Disagreement float64 `json:"disagreement_seconds"`
	Moves        int     `json:"moves"`
}

// of returns the figures of a scene.
func (f *figures) of(name string) *outages {
	switch name {
	case rebind:
		return &f.Rebind
	case copySmall:
		return &f.CopySmall
	case copyLarge:
		return &f.CopyLarge
	default:
		return &f.Snapshot
	}
}

// take adds the medians of a scene.
func (f *figures) take(name string, attach time.Duration, all samples) {
	scene := f.of(name)
	*scene.Seconds.of(attach) = measure.SpreadOf(all.ours).Median
	*scene.RestartFloor.of(attach) = measure.SpreadOf(all.restart).Median
	*scene.Script.of(attach) = measure.SpreadOf(all.script).Median
	for i, seen := range all.ours {
		f.Disagreement = max(f.Disagreement, math.Abs(seen-all.recorded[i]))
		f.Moves++
	}
}

// aim is the longest outage of a scene beyond that of a restart.
type aim struct {
	scene  string
	attach time.Duration
	// beyond is in seconds. detach is true if a disk is detached and attached once in addition.
	beyond float64
	detach bool
}

// aims are those for the outages. faster is how many times as long the outage by the script is to be.
func aims() (all []aim, faster float64) {
	return []aim{
		{scene: rebind, beyond: 0.3},
		{scene: copySmall, beyond: 0.8},
		{scene: copyLarge, attach: attaches[1], beyond: 3, detach: true},
	}, 3
}

// most returns the longest outage that reaches an aim.
func (a aim) most(restart float64) float64 {
	if a.detach {
		restart += 2 * a.attach.Seconds()
	}
	return restart + a.beyond
}

// rows returns the table: the figures of each scene, their aims, and the goal of the run.
func (f *figures) rows() []measure.Row {
	goals, faster := aims()
	var rows []measure.Row
	for _, s := range scenes(f.LargeMiB) {
		for _, attach := range attaches {
			of := f.of(s.name)
			ours, restart, script := *of.Seconds.of(attach), *of.RestartFloor.of(attach), *of.Script.of(attach)
			if ours == 0 {
				continue // it was not measured
			}
			figure := fmt.Sprintf("%s, attach %.0f s: outage, s", s.about, attach.Seconds())
			row := measure.Shown(figure, fmt.Sprintf("%.2f", ours))
			for _, goal := range goals {
				if goal.scene == s.name && goal.attach == attach {
					row = measure.Aimed(figure, "%.2f", ours, goal.most(restart))
				}
			}
			row.Measured += fmt.Sprintf(" (restart %.2f, script %.2f)", restart, script)
			rows = append(rows, row, measure.AtLeast("  script / sliceshift", "%.1f", script/ours, faster, "").AsAim())
		}
	}
	return append(rows, measure.Judged(fmt.Sprintf("watched and recorded outage of %d moves differ by, s", f.Moves), "%.2f", f.Disagreement, agreement, ""))
}

// page renders the figures for the documentation.
func (f *figures) page() string {
	var b strings.Builder
	b.WriteString("| | attach and detach, s each | sliceshift, s | restart, s | script, s | script / sliceshift |\n|---|---|---|---|---|---|\n")
	for _, s := range scenes(f.LargeMiB) {
		for _, attach := range attaches {
			of := f.of(s.name)
			ours, script := *of.Seconds.of(attach), *of.Script.of(attach)
			fmt.Fprintf(&b, "| %s | %.0f | %.2f | %.2f | %.2f | %.1f |\n", s.about, attach.Seconds(), ours, *of.RestartFloor.of(attach), script, script/ours)
		}
	}
	fmt.Fprintf(&b, "\nThe outages that %d Migrations recorded differ from these watches by at most %.2f s.\n", f.Moves, f.Disagreement)
	return b.String()
}
