package rehearse

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/cmd/migrate/command"
	"github.com/sliceshift/sliceshift/cmd/migrate/terminal"
	"github.com/sliceshift/sliceshift/migration/rehearsal"
	"github.com/sliceshift/sliceshift/migration/report"
	"github.com/sliceshift/sliceshift/migration/stage"
	"github.com/sliceshift/sliceshift/migration/view"
	"github.com/sliceshift/sliceshift/volumes"
)

// Document is the result of a rehearsal for output.
type Document struct {
	Outcome     rehearsal.Outcome `json:"outcome"`
	Reason      string            `json:"reason,omitempty"`
	Message     string            `json:"message,omitempty"`
	Remedy      string            `json:"remedy,omitempty"`
	Source      Side              `json:"source"`
	Destination Side              `json:"destination"`
	// Namespace is where the pods ran. Kept is true if it still exists.
	Namespace string `json:"namespace"`
	Kept      bool   `json:"kept"`
	// Stated is why the application may be rehearsed.
	Stated string            `json:"stated,omitempty"`
	Result *rehearsal.Result `json:"result,omitempty"`
	// Expected is the downtime that the move is expected to have.
	Expected *view.Outage `json:"expected,omitempty"`
	// Latency holds the requests to the source; nil if they were not measured.
	Latency *Latency `json:"latency,omitempty"`
}

// Side is a StatefulSet in a cluster.
type Side struct {
	Cluster     string `json:"cluster"`
	Namespace   string `json:"namespace"`
	StatefulSet string `json:"statefulSet"`
}

// NewDocument returns the result of a rehearsal that has ended. copies is true if the move copies volumes.
func NewDocument(r rehearsal.Record, config stage.Config, latency *Latency, copies bool) Document {
	d := Document{
		Outcome: r.End.Outcome, Reason: r.End.Reason, Message: r.End.Message, Remedy: r.End.Remedy, Namespace: r.Namespace, Kept: r.Open(),
		Source:      Side{config.Source.Name(), r.Source.Namespace, r.Source.StatefulSet},
		Destination: Side{config.Destination.Name(), r.Destination.Namespace, r.Destination.StatefulSet},
		Result:      r.Result, Latency: latency,
	}
	if config.Word != nil {
		d.Stated = config.Word.Why
	}
	if r.Result != nil && r.Result.Outcome == rehearsal.Rehearsed {
		d.Expected = view.OutageOf(r.Result.Outage(), copies)
	}
	return d
}

// Err returns the error of the command.
func (d Document) Err(ctx context.Context) error {
	switch d.Outcome {
	case rehearsal.Rehearsed:
		return nil
	case rehearsal.Interrupted:
		return command.Cause(ctx)
	case rehearsal.Refused:
		return command.Refusedf("the rehearsal is refused (%s): %s; %s", d.Reason, d.Message, d.Remedy)
	default:
		return command.Refusedf("the rehearsal has failed (%s): %s; %s", d.Reason, d.Message, d.Remedy)
	}
}

// Printer returns the function that prints a document as text.
func Printer(out io.Writer, paint terminal.Painter) func(Document) error {
	return func(d Document) error {
		lines := []string{paint.Bold(d.heading())}
		for _, fact := range d.facts() {
			const width = 10
			lines = append(lines, "  "+terminal.Pad(fact[0], width)+fact[1])
		}
		_, err := fmt.Fprintln(out, strings.Join(lines, "\n"))
		return err
	}
}

func (d Document) heading() string {
	what := fmt.Sprintf("StatefulSet %s/%s was rehearsed in cluster %s", d.Source.Namespace, d.Source.StatefulSet, d.Destination.Cluster)
	if d.Result == nil {
		what = fmt.Sprintf("The rehearsal of StatefulSet %s/%s in cluster %s has no result", d.Source.Namespace, d.Source.StatefulSet, d.Destination.Cluster)
	}
	if d.Kept {
		return what + "; its objects are kept in namespace " + d.Namespace
	}
	return what + "; nothing of it is left"
}

// facts returns the names and values of the result.
func (d Document) facts() [][2]string {
	var facts [][2]string
	add := func(name, value string) { facts = append(facts, [2]string{name, value}) }
	if r := d.Result; r != nil {
		add("isolated", "a pod reached "+strings.Join(r.Denied, ", ")+" without the NetworkPolicy, and none behind it")
		switch {
		case r.Copied:
			add("clones", "copied in "+brief(r.CloneSeconds)+" while their pods wrote. Each file, or part of a device, is of another moment: no disk ever had this content")
			add("", "A database may refuse it, repair more than after a crash, or start with damaged data. The images, settings and nodes")
			add("", "were rehearsed, and the start on about as much data; the recovery was not")
		case r.CloneSeconds > 0 || r.RestoreSeconds > 0:
			add("clones", fmt.Sprintf("snapshots ready after %s, slowest restore %s", brief(r.CloneSeconds), brief(r.RestoreSeconds)))
		}
		for _, p := range r.Pods {
			add(p.Pod, "Ready after "+brief(p.Seconds)+": "+partsText(p.Parts))
		}
		for _, g := range r.Gates {
			add("gate", gateText(g))
		}
	}
	if d.Expected != nil {
		add("expected", "down for each ordinal "+d.Expected.Text)
	}
	if d.Result != nil {
		add("source", originText(d.Result.Origin))
	}
	switch {
	case d.Latency != nil:
		add("before", requestsText(d.Latency.Before))
		add("during", requestsText(d.Latency.During))
	case d.Result != nil:
		add("latency", "of the source was not measured: --probe URL. A URL that writes measures its disks, too")
	}
	return facts
}

// originText describes the events of the source's pods.
func originText(o rehearsal.Origin) string {
	if len(o.Disturbed) == 0 {
		return view.Count(o.Pods, "pod") + ", Ready all the time, none was restarted"
	}
	return strings.Join(o.Disturbed, "; ")
}

// requestsText returns the requests to the source in a time.
func requestsText(status *api.ProbeStatus) string {
	if status == nil {
		return "no request to the source was sent"
	}
	return "of the source's clients, " + report.ProbeText(*status)
}

func partsText(parts []rehearsal.Part) string {
	texts := make([]string, 0, len(parts))
	for _, p := range parts {
		texts = append(texts, p.Name+" "+brief(p.Seconds))
	}
	return strings.Join(texts, ", ")
}

func gateText(g rehearsal.Gate) string {
	what := strings.TrimSpace(g.Name + " " + g.Pod)
	if g.Verdict == rehearsal.GateNotAsked {
		return what + ": not asked, because " + g.Message
	}
	return strings.TrimSpace(fmt.Sprintf("%s: %s %s", what, g.Verdict, g.Message))
}

func brief(seconds float64) string {
	return volumes.Brief(time.Duration(seconds * float64(time.Second)))
}
