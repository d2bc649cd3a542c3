package progress

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/cmd/migrate/terminal"
	"github.com/sliceshift/sliceshift/internal/shell"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/migration/report"
	"github.com/sliceshift/sliceshift/migration/view"
)

// Kind is the kind of an event.
type Kind string

// The kinds of events.
const (
	Started     Kind = "Started"
	Finding     Kind = "Finding"
	Written     Kind = "Written"
	Waiting     Kind = "Waiting"
	Stalled     Kind = "Stalled"
	Resumed     Kind = "GoingOn"
	ModeChanged Kind = "Mode"
	Sealed      Kind = "Sealed"
	OrdinalDone Kind = "OrdinalDone"
	Completed   Kind = "Completed"
	Stopped     Kind = "Stopped"
)

// Event is an event of a run.
type Event struct {
	// Time is the time of the event, ElapsedSeconds after the start of the run.
	Time           time.Time     `json:"time"`
	ElapsedSeconds float64       `json:"elapsedSeconds"`
	Kind           Kind          `json:"kind"`
	Ordinal        *int32        `json:"ordinal,omitempty"`
	Step           api.Step      `json:"step,omitempty"`
	Side           plan.SideName `json:"side,omitempty"`
	Verb           plan.Verb     `json:"verb,omitempty"`
	Object         string        `json:"object,omitempty"`
	Reason         string        `json:"reason,omitempty"`
	Message        string        `json:"message"`
	Remedy         string        `json:"remedy,omitempty"`
	Warning        bool          `json:"warning,omitempty"`
	// Seal is the result of a copy of a volume.
	Seal *Seal `json:"seal,omitempty"`
	// Seconds is how long the handoff of the ordinal took, and DownSeconds how long the ordinal was down, if known.
	// Stayed is true if it was not stopped at all.
	Seconds     *float64 `json:"seconds,omitempty"`
	DownSeconds *float64 `json:"downSeconds,omitempty"`
	// SoakSeconds is how long it was then Ready before it counted as available.
	SoakSeconds *float64 `json:"soakSeconds,omitempty"`
	Stayed      bool     `json:"stayed,omitempty"`
	// Clients holds the requests of clients during the handoff.
	Clients *api.ClientRequests `json:"clients,omitempty"`
	Moved   int32               `json:"moved"`
	Total   int32               `json:"total"`
	Summary *Summary            `json:"summary,omitempty"`
	// WayBack is the command that plans the move back.
	WayBack string `json:"wayBack,omitempty"`

	elapsed time.Duration
	// short is the message without the parts that only a program needs. reverse introduces WayBack.
	short, reverse string
}

// MarshalJSON adds the commands of the remedy.
func (e Event) MarshalJSON() ([]byte, error) {
	type bare Event
	return shell.WithCommands(bare(e), e.Remedy)
}

// Seal is the result of comparing both sides of a copy: the digest of all data, the amount that was read, and how
// long the pass took.
type Seal struct {
	// ClaimTemplate is the template of the volume's claim.
	ClaimTemplate string `json:"claimTemplate"`

	Root    string `json:"root"`
	Bytes   int64  `json:"bytes"`
	Files   int64  `json:"files"`
	Seconds int64  `json:"seconds"`
	// Verify is how the sides were compared. With Changed, Read bytes of the two sides together were read, and Trusted
	// bytes were not.
	Verify  string `json:"verify,omitempty"`
	Read    int64  `json:"read,omitempty"`
	Trusted int64  `json:"trusted,omitempty"`
}

// Summary is the summary of a run. Its durations cover only the ordinals whose handoff began in this process.
type Summary struct {
	Outcome         string  `json:"outcome,omitempty"`
	Ordinals        int     `json:"ordinals"`
	TotalSeconds    float64 `json:"totalSeconds"`
	MinSeconds      float64 `json:"minSeconds,omitempty"`
	MedianSeconds   float64 `json:"medianSeconds,omitempty"`
	MaxSeconds      float64 `json:"maxSeconds,omitempty"`
	FewestAvailable int32   `json:"fewestAvailable"`
	Replicas        int32   `json:"replicas"`
	Writes          int     `json:"writes"`
	// Clients holds the requests of clients, if a probe measured them.
	Clients *api.ProbeStatus `json:"clients,omitempty"`
}

// times sets the durations in the summary.
func (s *Summary) times(took []time.Duration) {
	if s.Ordinals = len(took); len(took) == 0 {
		return
	}
	of := view.SpreadOf(took)
	s.MinSeconds, s.MedianSeconds, s.MaxSeconds = view.Exact(of.Shortest), view.Exact(of.Median), view.Exact(of.Longest)
}

// indent is the column at which the text of an event begins.
const indent = 15

// lines returns the text of an event: the time since the start, the ordinal, and the message. A width of 0 means no
// limit, as in a file.
func (e Event) lines(p terminal.Painter, width int) []string {
	ordinal := ""
	if e.Ordinal != nil {
		ordinal = strconv.Itoa(int(*e.Ordinal))
	}
	var text []string
	for line := range strings.SplitSeq(e.text(), "\n") {
		text = append(text, terminal.Wrap(line, width-indent-1)...)
	}
	paint := e.color(p)
	out := []string{fmt.Sprintf("%s %s  %s", p.Dim(fmt.Sprintf("%8s", view.Duration(e.elapsed))), p.Dim(fmt.Sprintf("%4s", ordinal)), paint(text[0]))}
	for _, more := range text[1:] {
		out = append(out, strings.Repeat(" ", indent)+paint(more))
	}
	return out
}

func (e Event) text() string {
	remedy := ""
	if e.Remedy != "" {
		remedy = "\n" + terminal.Remedy(e.Remedy)
	}
	switch e.Kind {
	case Stalled:
		return "STALLED (" + e.Reason + ") " + e.Message + remedy
	case Finding:
		label := "error: "
		if e.Warning {
			label = "warning: "
		}
		return label + e.Reason + ": " + e.Message + remedy
	case Completed:
		text := e.Message + e.Summary.text()
		if e.WayBack != "" {
			text += "\n" + e.reverse + ": " + e.WayBack
		}
		return text
	case Written:
		return e.short
	default:
		return e.Message
	}
}

// text returns the lines of the summary.
func (s *Summary) text() string {
	if s == nil {
		return ""
	}
	took := func(seconds float64) string { return view.Duration(time.Duration(seconds * float64(time.Second))) }
	text := fmt.Sprintf("\n%s in %s", view.Count(s.Writes, "write"), took(s.TotalSeconds))
	switch s.Ordinals {
	case 0:
	case 1:
		text += "; the ordinal took " + took(s.MaxSeconds)
	default:
		text += fmt.Sprintf("; each ordinal took %s to %s, median %s", took(s.MinSeconds), took(s.MaxSeconds), took(s.MedianSeconds))
	}
	if s.FewestAvailable >= 0 {
		text += fmt.Sprintf("\nnever seen fewer than %d of %d replicas available", s.FewestAvailable, s.Replicas)
	}
	if s.Clients != nil {
		text += "\nclients: " + report.ProbeText(*s.Clients)
	}
	return text
}

func (e Event) color(p terminal.Painter) func(string) string {
	switch e.Kind {
	case Stalled:
		return p.Red
	case Waiting:
		return p.Dim
	case OrdinalDone, Resumed, Sealed:
		return p.Green
	case Started, Completed:
		return p.Bold
	case ModeChanged, Stopped:
		return p.Yellow
	case Finding:
		if e.Warning {
			return p.Yellow
		}
		return p.Red
	default:
		return func(text string) string { return text }
	}
}
