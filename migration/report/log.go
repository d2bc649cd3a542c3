package report

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"time"

	"k8s.io/utils/ptr"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/plan"
)

// Entry is one line of the log of a run: a write, a wait, or a completed handoff.
type Entry struct {
	Time    time.Time     `json:"time"`
	Kind    string        `json:"kind"`
	Ordinal *int32        `json:"ordinal,omitempty"`
	Step    api.Step      `json:"step,omitempty"`
	Side    plan.SideName `json:"side,omitempty"`
	Verb    plan.Verb     `json:"verb,omitempty"`
	Object  string        `json:"object,omitempty"`
	Reason  string        `json:"reason,omitempty"`
	Message string        `json:"message"`
	// Seal is the seal of a copied volume.
	Seal    *Sealed  `json:"seal,omitempty"`
	Seconds *float64 `json:"seconds,omitempty"`
	// DownSeconds is how long the ordinal was down, if known. Stayed is true if it was not stopped at all.
	DownSeconds *float64 `json:"downSeconds,omitempty"`
	// SoakSeconds is how long it was Ready before it counted as available.
	SoakSeconds *float64 `json:"soakSeconds,omitempty"`
	Stayed      bool     `json:"stayed,omitempty"`
	// Clients is the probe's result during the handoff.
	Clients *api.ClientRequests `json:"clients,omitempty"`
	// By is the process that was driving at that time, if known.
	By string `json:"by,omitempty"`
}

// Kinds of entries that a report uses; the log has others.
const (
	kindWritten = "Written"
	kindDone    = "OrdinalDone"
)

// longestEntry is the maximum size of a log line, in bytes.
const longestEntry = 1 << 20

// ReadLog reads the output of `migrate run -o json` of one run, or of several consecutive runs. It skips a line
// that was cut off, for instance by a crash. Any other line that is not JSON is an error.
func ReadLog(in io.Reader) ([]Entry, error) {
	var entries []Entry
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, longestEntry)
	for n := 1; lines.Scan(); n++ {
		line := bytes.TrimSpace(lines.Bytes())
		if len(line) == 0 {
			continue
		}
		var e Entry
		err := json.Unmarshal(line, &e)
		switch {
		case err == nil:
			entries = append(entries, e)
		case line[0] != '{' || json.Valid(line):
			return nil, fmt.Errorf("line %d is no entry of a log that migrate run has written: %w", n, err)
		}
	}
	return entries, lines.Err()
}

// WithLog adds the log of this migration. It leaves out entries from before its beginning, which may belong to
// an earlier one. Whatever the status does not list any more is taken from the log.
func (r Report) WithLog(entries []Entry) Report {
	if r.Started == nil {
		return r
	}
	for _, e := range entries {
		if e.Time.Before(*r.Started) || e.Time.After(r.end().Add(time.Second)) {
			continue
		}
		e.Time, e.By = e.Time.UTC(), r.driverAt(e.Time)
		r.Entries = append(r.Entries, e)
	}
	old := r.loggedSeals()
	r.Seals, r.DroppedSeals = append(old, r.Seals...), r.DroppedSeals-int32(len(old))
	r.Handoffs = slices.Clone(r.Handoffs)
	r.logHandoffs()
	r.logStops()
	r.measure()
	return r
}

// logHandoffs takes the oldest handoffs, which the status does not list any more, from the log.
func (r *Report) logHandoffs() {
	var oldest []Handoff
	for _, e := range r.Entries {
		if e.Kind != kindDone || e.Ordinal == nil || e.Seconds == nil || int32(len(oldest)) >= r.DroppedHandoffs || !r.dropped(e.Time) {
			continue
		}
		end, ago := e.Time, func(seconds float64) time.Time { return e.Time.Add(-time.Duration(seconds * float64(time.Second))) }
		h := Handoff{Ordinal: *e.Ordinal, Direction: r.direction(end), Start: ago(*e.Seconds), End: &end, Stayed: e.Stayed, Clients: e.Clients, By: e.By}
		if e.DownSeconds != nil {
			soak := ptr.Deref(e.SoakSeconds, 0)
			h.Stopped, h.Ready = new(ago(*e.DownSeconds+soak)), new(ago(soak))
		}
		oldest = append(oldest, h)
	}
	r.Handoffs = append(oldest, r.Handoffs...)
	r.DroppedHandoffs -= int32(len(oldest))
}

// dropped reports whether the handoff that ended at a time is not listed in the status.
func (r *Report) dropped(end time.Time) bool {
	return len(r.Handoffs) == 0 || r.Handoffs[0].End == nil || end.Before(*r.Handoffs[0].End)
}

func (r *Report) direction(t time.Time) api.Direction {
	way := api.Forward
	for _, d := range r.Drivers {
		if !d.Start.After(t) {
			way = d.Direction
		}
	}
	return way
}
