package evacuate

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/sliceshift/sliceshift/cmd/migrate/terminal"
	"github.com/sliceshift/sliceshift/migration/evacuate"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/migration/report/chart"
	"github.com/sliceshift/sliceshift/migration/report/page"
	"github.com/sliceshift/sliceshift/migration/view"
)

// show prints the plan in the requested format.
func (o *options) show(d document) error {
	switch o.output.Value {
	case "html":
		html, err := page.HTML(d.page())
		if err == nil {
			_, err = o.Out.Write(html)
		}
		return err
	case "svg":
		image, err := chart.SVG(d.chart())
		if err == nil {
			_, err = io.WriteString(o.Out, string(image))
		}
		return err
	}
	return terminal.Print(o.Out, o.output.Value, d, o.print)
}

// print prints the plan as text: the summary, the sets, the chart, the obstacles, and the destination.
func (o *options) print(d document) error {
	if d.Summary.StatefulSets == 0 {
		return nil
	}
	paint := o.Paint()
	fmt.Fprintf(o.Out, "%s\n\n", paint.Bold(d.lead()))
	if len(d.StatefulSets) > 0 {
		if err := d.table().Write(o.Out, paint); err != nil {
			return err
		}
		fmt.Fprintln(o.Out)
		for _, line := range o.gantt(d.plan) {
			fmt.Fprintln(o.Out, line)
		}
		fmt.Fprintln(o.Out)
	}
	o.obstacles(d)
	if err := o.rooms(d); err != nil {
		return err
	}
	for _, note := range d.Notes {
		fmt.Fprintln(o.Out, paint.Yellow("note: ")+note)
	}
	return nil
}

// lead returns the plan in one sentence.
func (d document) lead() string {
	s := d.Summary
	text := fmt.Sprintf("From cluster %s to %s: %d of %s can move", d.Source, d.Destination, s.Moving, view.Count(s.StatefulSets, "StatefulSet"))
	if s.Moving == 0 {
		return text + "."
	}
	text += fmt.Sprintf(", with %s and volumes of %s", view.Count(s.Ordinals, "ordinal"), view.Size(s.Bytes))
	if s.FilledBytes > 0 {
		text += fmt.Sprintf(" (%s new)", view.Size(s.FilledBytes))
	}
	return fmt.Sprintf("%s, in about %s.", text, view.Coarse(d.plan.Lasts))
}

// none stands for an empty cell, as in kubectl.
const none = "<none>"

// table returns the table of the sets that move.
func (d document) table() *terminal.Table {
	t := &terminal.Table{Head: []string{"NAMESPACE", "STATEFULSET", "REPLICAS", "VOLUMES", "SIZE", "AFTER", "BEGINS", "ENDS", "DOWN EACH"}}
	for _, r := range d.plan.Rows {
		t.Add(nil, cells(r)...)
	}
	return t
}

// cells returns the line of a set.
func cells(r evacuate.Row) []string {
	var methods, after []string
	var bytes int64
	for _, t := range r.Set.Templates {
		methods = append(methods, fmt.Sprintf("%s by %s", t.Name, t.Method))
		bytes += t.Bytes
	}
	for _, e := range r.After {
		text := e.On.String()
		if e.On.Namespace == r.Set.Namespace {
			text = e.On.Name
		}
		after = append(after, text)
	}
	if r.Set.Wave > 0 {
		after = append(after, fmt.Sprintf("waves below %d", r.Set.Wave))
	}
	down := downText(r.Set.Expected)
	return []string{
		r.Set.Namespace, r.Set.Name.Name, strconv.Itoa(int(r.Set.Replicas)), listed(methods), view.Size(bytes), listed(after),
		"+" + view.Coarse(r.Begin), "+" + view.Coarse(r.End), down,
	}
}

// downText returns how long each ordinal is down, and whether that was measured.
func downText(e evacuate.Expected) string {
	text := view.Coarse(e.Down)
	if e.Measured == 0 {
		text += " (assumed)"
	}
	return text
}

func listed(all []string) string {
	if len(all) == 0 {
		return none
	}
	return plan.Listed(all)
}

// obstacles prints the sets that cannot move, and why.
func (o *options) obstacles(d document) {
	paint := o.Paint()
	for _, c := range d.Causes {
		names := make([]string, len(c.StatefulSets))
		for i, set := range c.StatefulSets {
			names[i] = set.Namespace + "/" + set.Name
		}
		names = slices.Compact(names)
		fmt.Fprintf(o.Out, "%s %s: %s\n", paint.Red("cannot move, "+c.Reason+","), view.Count(len(names), "StatefulSet"), plan.Listed(names))
		seen := map[string]bool{}
		for _, set := range c.StatefulSets {
			if f := set.Finding; o.output.Value == "wide" || len(seen) == 0 {
				fmt.Fprintf(o.Out, "  %s\n", f.Message)
				if f.Remedy != "" && !seen[f.Remedy] {
					fmt.Fprintf(o.Out, "  %s\n", terminal.Remedy(f.Remedy))
				}
				seen[f.Remedy] = true
			}
		}
		if more := len(c.StatefulSets) - 1; more > 0 && o.output.Value != "wide" {
			fmt.Fprintf(o.Out, "  %d more like it; -o wide shows each\n", more)
		}
		fmt.Fprintln(o.Out)
	}
	for _, h := range d.Held {
		fmt.Fprintf(o.Out, "%s %s/%s: it depends on %s/%s, which cannot move: %s\n", paint.Red("held"), h.Namespace, h.Name, h.On.Namespace, h.On.Name, h.Why)
	}
	for _, h := range d.Ignored {
		fmt.Fprintf(o.Out, "%s %s/%s does not wait for %s/%s: %s\n", paint.Yellow("order"), h.Namespace, h.Name, h.On.Namespace, h.On.Name, h.Why)
	}
	if len(d.Idle) > 0 {
		names := make([]string, len(d.Idle))
		for i, idle := range d.Idle {
			names[i] = idle.Namespace + "/" + idle.Name
		}
		fmt.Fprintf(o.Out, "no replicas, so nothing moves: %s\n", plan.Listed(names))
	}
	if len(d.Held)+len(d.Ignored)+len(d.Idle) > 0 {
		fmt.Fprintln(o.Out)
	}
}

// mostUnplaced is how many ordinals without a place are shown.
const mostUnplaced = 5

// rooms prints the resources that the destination needs, and has free.
func (o *options) rooms(d document) error {
	if len(d.StatefulSets) == 0 {
		return nil
	}
	paint := o.Paint()
	t := terminal.Table{Head: []string{"NEEDED IN " + strings.ToUpper(d.Destination), "NEEDS", "FREE", "FITS"}}
	for _, r := range d.Rooms {
		t.Add(map[bool]func(string) string{false: paint.Red}[r.Fits], r.cells()...)
	}
	if err := t.Write(o.Out, paint); err != nil {
		return err
	}
	fmt.Fprintln(o.Out)
	for _, u := range d.Unplaced[:min(mostUnplaced, len(d.Unplaced))] {
		fmt.Fprintln(o.Out, paint.Red("no node for ")+u.text())
	}
	if more := len(d.Unplaced) - mostUnplaced; more > 0 {
		fmt.Fprintf(o.Out, "%d more ordinals have no node; -o json lists them\n", more)
	}
	return nil
}

// cells returns the line of a resource.
func (r room) cells() []string {
	free, fits := "?", "?"
	if r.Free != nil {
		free, fits = r.Free.String(), map[bool]string{true: "yes", false: "no"}[r.Fits]
	}
	return []string{r.What, r.Needs.String(), free, fits}
}

// text returns the ordinal, when it would stay Pending, and why.
func (u unplaced) text() string {
	return fmt.Sprintf("%s/%s-%d at +%s: %s", u.Namespace, u.Name, u.Ordinal, view.Coarse(inSeconds(u.At)), u.Why)
}

// gantt returns the chart as lines: a row for each set.
func (o *options) gantt(p evacuate.Plan) []string {
	var labels []string
	for _, r := range p.Rows {
		labels = append(labels, r.Set.String())
	}
	c := canvas{lasts: p.Lasts, unicode: o.Unicode()}
	c.fit(labels, o.Width())
	lines := []string{c.axis()}
	for _, r := range p.Rows {
		strokes := []stroke{{r.Begin, r.End, moves}}
		for _, h := range r.Handoffs {
			strokes = append(strokes, stroke{h.Down, h.Up, down})
		}
		lines = append(lines, c.line(r.Set.String(), strokes))
	}
	return append(lines, c.legend(moves, down)...)
}
