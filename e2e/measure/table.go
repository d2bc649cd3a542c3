package measure

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"text/tabwriter"

	"github.com/sliceshift/sliceshift/e2e/built"
)

// Row is one line of the table.
type Row struct {
	Figure, Measured string
	// Goal is the required value; a row without a goal is only shown.
	Goal, Verdict string
	Missed        bool
}

// Judged returns a row whose value must not exceed a goal.
func Judged(figure, format string, value, most float64, remark string) Row {
	return judged(figure, fmt.Sprintf(format, value)+remark, "at most "+fmt.Sprintf(format, most), value <= most)
}

// AtLeast returns a row whose value must reach a goal.
func AtLeast(figure, format string, value, least float64, remark string) Row {
	return judged(figure, fmt.Sprintf(format, value)+remark, "at least "+fmt.Sprintf(format, least), value >= least)
}

func judged(figure, measured, goal string, good bool) Row {
	r := Row{Figure: figure, Measured: measured, Goal: goal, Verdict: "ok"}
	if !good {
		r.Verdict, r.Missed = "MISSED", true
	}
	return r
}

// Aimed returns a row whose goal is only an aim: missing it is no failure.
func Aimed(figure, format string, value, most float64) Row {
	r := Judged(figure, format, value, most, "")
	r.Goal += " (aim)"
	r.Missed = false
	return r
}

// Shown returns a row without a goal.
func Shown(figure, measured string) Row { return Row{Figure: figure, Measured: measured} }

// Aim adds an aim beyond the goal; missing it is no failure.
func (r Row) Aim(format string, aim float64) Row {
	r.Goal += ", aim " + fmt.Sprintf(format, aim)
	return r
}

// Show prints the table, and reports whether all goals are met.
func Show(out io.Writer, rows []Row) bool {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "FIGURE\tMEASURED\tGOAL\tVERDICT")
	good := true
	for _, r := range rows {
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\n", r.Figure, r.Measured, r.Goal, r.Verdict)
		good = good && !r.Missed
	}
	table.Flush()
	return good
}

// WriteJSON writes the figures of a target of the Makefile to out/TARGET.json.
func WriteJSON(target string, figures any) error {
	root, err := built.Module()
	if err != nil {
		return err
	}
	path := filepath.Join(root, "out", target+".json")
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	data, err := json.MarshalIndent(figures, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(data, '\n'), 0o644)
}
