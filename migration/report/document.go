package report

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"time"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/report/page"
	"github.com/sliceshift/sliceshift/migration/view"
)

// Page returns the report as a document.
func (r Report) Page() page.Page {
	p := page.Page{
		Title: fmt.Sprintf("Migration of StatefulSet %s/%s", r.Source.Namespace, r.Source.StatefulSet),
		Lead:  r.lead(), Facts: r.facts(), Note: r.note(),
	}
	if r.Started != nil {
		timeline := r.Chart()
		p.Chart = &timeline
	}
	p.Sections = append(p.Sections, r.handoffs())
	if len(r.Seals) > 0 || r.DroppedSeals > 0 {
		p.Sections = append(p.Sections, r.seals())
	}
	p.Sections = append(p.Sections, r.stops(), r.drivers(), r.writes())
	if len(r.Warnings) > 0 {
		p.Sections = append(p.Sections, r.warnings())
	}
	if len(r.Kept) > 0 {
		p.Sections = append(p.Sections, r.kept())
	}
	p.Sections = append(p.Sections, r.conditions())
	return p
}

// kept returns the section about volumes that were left behind.
func (r Report) kept() page.Section {
	s := page.Section{
		Title: "Volumes that were left behind", Head: []string{"Volume", "Claim", "Disk", "To remove it"},
		Text: "In cluster " + r.Cluster + ". No migration deletes a disk, and the command removes the object alone. In the other cluster: kubectl migrate kept.",
	}
	for _, v := range r.Kept {
		s.Rows = append(s.Rows, []string{v.Volume, v.Claim, v.Disk, v.Remove})
	}
	return s
}

func (r Report) lead() string {
	way := fmt.Sprintf("from %s to %s", r.Source, r.Destination)
	switch {
	case r.Started == nil:
		return "It has not begun: nothing has been written. It would lead " + way + "."
	case r.Outcome == api.ReasonMoved:
		return "It is completed: every ordinal that was asked for was moved " + way + "."
	case r.Outcome != "":
		return fmt.Sprintf("It has ended (%s): the move %s is undone, and the ordinals run at the source again.", r.Outcome, way)
	case len(r.Stops) > 0 && r.Stops[len(r.Stops)-1].End == nil:
		return fmt.Sprintf("It has stopped (%s) on the way %s.", r.Stops[len(r.Stops)-1].Reason, way)
	default:
		return "It is under way " + way + "."
	}
}

// String returns the name of a side for the user.
func (s Side) String() string {
	name := s.Namespace + "/" + s.StatefulSet
	if s.Cluster != "" {
		name += " in cluster " + s.Cluster
	}
	return name
}

func (r Report) facts() []page.Fact {
	if r.Started == nil { // the contents of the sides are unknown before
		return []page.Fact{{Name: "Source", Value: r.Source.String()}, {Name: "Destination", Value: r.Destination.String()}}
	}
	facts := []page.Fact{
		{Name: "Source", Value: r.Source.String() + r.Source.has()},
		{Name: "Destination", Value: r.Destination.String() + r.Destination.has()},
		{Name: "Moved", Value: fmt.Sprintf("%d of %d ordinals", r.Moved, r.Total)},
		{Name: "Began", Value: moment(*r.Started)},
	}
	if r.Ended != nil {
		facts = append(facts, page.Fact{Name: "Ended", Value: moment(*r.Ended)})
	}
	facts = append(facts, page.Fact{Name: "Took", Value: length(r.end().Sub(*r.Started)) + map[bool]string{true: " so far"}[r.Ended == nil]})
	facts = append(facts, page.Fact{Name: "Budget", Value: fmt.Sprintf("%d of %d replicas may be unavailable at once", r.Budget, r.Replicas)})
	if r.FewestAvailable != nil {
		kept := "within the budget"
		if *r.FewestAvailable < r.Replicas-r.Budget {
			kept = "below the budget"
		}
		facts = append(facts, page.Fact{Name: "Fewest available", Value: fmt.Sprintf("%d of %d, %s", *r.FewestAvailable, r.Replicas, kept)})
	}
	if c := r.Rehearsal; c != nil {
		facts = append(facts, page.Fact{Name: "Rehearsed", Value: c.Text})
	}
	if c := r.Clients; c != nil {
		facts = append(facts, page.Fact{Name: "Clients", Value: strings.TrimSpace(c.URL + " " + c.Text)})
	}
	var stood time.Duration
	for _, s := range r.Stops {
		stood += s.length(r.end())
	}
	facts = append(facts, page.Fact{Name: "Stood still", Value: fmt.Sprintf("%s in %s", length(stood), view.Count(len(r.Stops)+int(r.DroppedStops), "stop"))})
	if r.AsOf != nil && r.Ended == nil {
		facts = append(facts, page.Fact{Name: "As of", Value: moment(*r.AsOf)})
	}
	if r.Undriven != "" {
		facts = append(facts, page.Fact{Name: "Driven by", Value: r.Undriven})
	}
	return append(facts, page.Fact{Name: "Mode", Value: string(r.Mode)})
}

// has returns the last observed contents of a side as text.
func (s Side) has() string {
	var text string
	switch s.Replicas {
	case 0:
		text = ": no ordinals"
	case 1:
		text = fmt.Sprintf(": ordinal %d, %d available", s.Start, s.Available)
	default:
		text = fmt.Sprintf(": ordinals %d to %d, %d available", s.Start, s.Start+s.Replicas-1, s.Available)
	}
	if s.AsOf != nil {
		text += ", as of " + moment(*s.AsOf)
	}
	return text
}

func (r Report) handoffs() page.Section {
	s := page.Section{Title: "Handoffs", Head: []string{"Ordinal", "Way", "Began", "Available", "Took", "Down", "Soak", "Fewest available", "Attempts", "By"}}
	s.Text = "None has begun."
	if len(r.Handoffs) > 0 {
		s.Text = "Took is the whole handoff, with copies made while the ordinal runs; Down is from its stop until it was Ready. Soak is how long it was then Ready before it counted as available."
	}
	if r.DroppedHandoffs > 0 {
		s.Text += fmt.Sprintf(" The first %d are not listed: the status keeps the last ones only, and a log of all runs was not given.", r.DroppedHandoffs)
	}
	if r.measured() {
		s.Head = append(s.Head, "Clients")
		s.Text += " Clients is the result of the requests that the probe sent in that time."
	}
	for _, h := range r.Handoffs {
		available, took := "in progress, at "+string(cmp.Or(h.Step, "its beginning")), length(r.end().Sub(h.Start))+" so far"
		if h.End != nil {
			available, took = moment(*h.End), length(h.End.Sub(h.Start))
		}
		if h.Outcome == api.HandoffTurnedBack {
			available = "turned back " + available
		}
		row := []string{
			number(h.Ordinal), way(h.Direction), moment(h.Start), available, took, h.down(), cmp.Or(h.soak(), "not known"), r.fewest(h), attempts(h), cmp.Or(h.By, "not known"),
		}
		if r.measured() {
			row = append(row, h.clients())
		}
		s.Rows = append(s.Rows, row)
	}
	return s
}

func attempts(h Handoff) string {
	if h.Attempts == 0 {
		return "not known"
	}
	return number(h.Attempts)
}

func (r Report) fewest(h Handoff) string {
	if h.FewestAvailable == nil {
		return "not known"
	}
	return fmt.Sprintf("%d of %d", *h.FewestAvailable, r.Replicas)
}

func way(d api.Direction) string {
	if d == api.Back {
		return "back to the source"
	}
	return "to the destination"
}

func (s Stop) length(until time.Time) time.Duration {
	if s.End != nil {
		until = *s.End
	}
	return max(0, until.Sub(s.Start))
}

func (r Report) stops() page.Section {
	s := page.Section{Title: "Stops", Head: []string{"No.", "From", "Length", "Reason", "Ordinal", "Message"}}
	switch {
	case len(r.Stops) == 0:
		s.Text = "It has never stopped."
	case r.DroppedStops > 0:
		s.Text = fmt.Sprintf("The first %d are not listed: the status keeps the last ones only.", r.DroppedStops)
	}
	for i, stop := range r.Stops {
		lasts := length(stop.length(r.end()))
		if stop.End == nil {
			lasts += " so far"
		}
		ordinal := "none"
		if stop.Ordinal != nil {
			ordinal = number(*stop.Ordinal)
		}
		s.Rows = append(s.Rows, []string{strconv.Itoa(i + 1), moment(stop.Start), lasts, stop.Reason, ordinal, stop.Message})
	}
	return s
}

func (r Report) drivers() page.Section {
	s := page.Section{
		Title: "Processes", Head: []string{"Epoch", "From", "Process", "Direction"},
		Text: "Each process that drives a migration has an epoch of its own, which it writes on both StatefulSets before it moves anything.",
	}
	for _, d := range r.Drivers {
		s.Rows = append(s.Rows, []string{strconv.FormatInt(d.Epoch, 10), moment(d.Start), d.Holder, string(d.Direction)})
	}
	return s
}

func (r Report) writes() page.Section {
	s := page.Section{Title: "Writes", Head: []string{"Time", "Ordinal", "Side", "Object", "Write", "By"}}
	for _, e := range r.Entries {
		if e.Kind != kindWritten {
			continue
		}
		ordinal := "none"
		if e.Ordinal != nil {
			ordinal = number(*e.Ordinal)
		}
		s.Rows = append(s.Rows, []string{moment(e.Time), ordinal, string(e.Side), e.Object, e.Message, cmp.Or(e.By, "not known")})
	}
	s.Text = fmt.Sprintf("Those in the log that was given: %d.", len(s.Rows))
	if len(r.Entries) == 0 {
		s.Text = "They are not kept in the status. A run writes each to a log where it is asked to: migrate run --log FILE, and migrate report --log FILE."
	}
	return s
}

func (r Report) warnings() page.Section {
	s := page.Section{Title: "Warnings before the first write", Head: []string{"Check", "Reason", "Object", "Message", "Remedy"}}
	for _, w := range r.Warnings {
		s.Rows = append(s.Rows, []string{w.Check, w.Reason, w.Object, w.Message, w.Remedy})
	}
	return s
}

func (r Report) conditions() page.Section {
	s := page.Section{Title: "Conditions", Head: []string{"Type", "Status", "Since", "Reason", "Message"}}
	for _, c := range r.Conditions {
		s.Rows = append(s.Rows, []string{c.Type, string(c.Status), moment(c.LastTransitionTime.Time), c.Reason, c.Message})
	}
	if len(s.Rows) == 0 {
		s.Text = "There are none yet."
	}
	return s
}

func (r Report) note() string {
	return fmt.Sprintf("Made at %s from %s in cluster %s. Times are UTC, by the clock of the process that was driving.", moment(r.Time), r.Record, r.Cluster)
}

func number(n int32) string { return strconv.Itoa(int(n)) }

func moment(t time.Time) string { return t.UTC().Format(time.DateTime) }

// length formats a duration, to a tenth of a second if it is short.
func length(d time.Duration) string {
	const short = time.Minute
	if d < short {
		return d.Round(time.Second / 10).String()
	}
	return d.Round(time.Second).String()
}
