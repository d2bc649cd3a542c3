package evacuate

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/cmd/migrate/command"
	"github.com/sliceshift/sliceshift/cmd/migrate/kept"
	"github.com/sliceshift/sliceshift/cmd/migrate/sets"
	"github.com/sliceshift/sliceshift/cmd/migrate/terminal"
	"github.com/sliceshift/sliceshift/internal/clusters"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/migration/report"
	"github.com/sliceshift/sliceshift/migration/report/chart"
	"github.com/sliceshift/sliceshift/migration/report/page"
	"github.com/sliceshift/sliceshift/migration/view"
)

// course is the report of an Evacuation.
type course struct {
	Namespace  string    `json:"namespace"`
	Name       string    `json:"name"`
	Cluster    string    `json:"cluster"`
	Time       time.Time `json:"time"`
	State      string    `json:"state"`
	Progress   string    `json:"progress"`
	Migrations []moved   `json:"migrations"`
	// Left lists, by namespace, the remains in the source's cluster.
	Left []left `json:"left"`
}

// moved is the course of one Migration.
type moved struct {
	Migration string             `json:"migration"`
	Source    name               `json:"source"`
	State     api.EvacuatedState `json:"state"`
	Message   string             `json:"message,omitempty"`
	Moved     int32              `json:"moved"`
	Total     int32              `json:"total"`
	Started   *time.Time         `json:"started,omitempty"`
	Ended     *time.Time         `json:"ended,omitempty"`
	// Down is the median of the times in which ordinals were down, and LongestDown the longest; absent if none was.
	Down        *float64 `json:"downSeconds,omitempty"`
	LongestDown *float64 `json:"longestDownSeconds,omitempty"`

	handoffs []report.Handoff
}

// left are the remains in a namespace of the source's cluster.
type left struct {
	Namespace string `json:"namespace"`
	// Running are the StatefulSets with replicas, and Empty those without.
	Running []string `json:"running"`
	Empty   []string `json:"empty"`
	// Volumes is the number of volumes that ordinals have left behind.
	Volumes int `json:"keptVolumes"`
}

// Report prints the report of an Evacuation as Markdown, HTML or JSON.
func Report(ctx context.Context, c *command.Common, evacuation, format string) error {
	connection, namespace, err := c.ConnectTo()
	if err != nil {
		return err
	}
	r, err := readCourse(ctx, connection, client.ObjectKey{Namespace: namespace, Name: evacuation}, connection.ServerTime(c.Clock.Now()))
	if err != nil {
		return command.Unreachable(connection.Name(), err)
	}
	switch format {
	case "json":
		return terminal.Encode(c.Out, format, r)
	case "html":
		html, err := page.HTML(r.page())
		if err == nil {
			_, err = c.Out.Write(html)
		}
		return err
	}
	_, err = c.Out.Write(page.Markdown(r.page()))
	return err
}

// readCourse reads an Evacuation, its Migrations, and the remains in the namespaces of their sources.
func readCourse(ctx context.Context, connection *clusters.Connection, key client.ObjectKey, now time.Time) (course, error) {
	e := &api.Evacuation{}
	if err := connection.Live().Get(ctx, key, e); err != nil {
		return course{}, err
	}
	r := course{Namespace: e.Namespace, Name: e.Name, Cluster: connection.Name(), Time: now, State: e.Status.State, Progress: e.Status.Progress, Migrations: []moved{}, Left: []left{}}
	states := map[string]api.EvacuatedStatus{}
	for _, each := range e.Status.Migrations {
		states[each.Name] = each
	}
	var all api.MigrationList
	if err := connection.Live().List(ctx, &all, client.InNamespace(e.Namespace)); err != nil {
		return course{}, err
	}
	namespaces := map[string]bool{}
	for _, entry := range e.Spec.Migrations {
		at := slices.IndexFunc(all.Items, func(m api.Migration) bool { return m.Name == entry.Name })
		next := moved{Migration: entry.Name, State: cmp.Or(states[entry.Name].State, api.EvacuatedWaiting), Message: states[entry.Name].Message}
		if at >= 0 {
			next.fill(&all.Items[at], connection.Name(), now)
			namespaces[next.Source.Namespace] = true
		}
		r.Migrations = append(r.Migrations, next)
	}
	return r, r.readLeft(ctx, connection, slices.Sorted(maps.Keys(namespaces)))
}

// fill adds the facts of a Migration.
func (m *moved) fill(migration *api.Migration, cluster string, now time.Time) {
	of := report.Of(migration, report.Place{Cluster: cluster, Record: "Migration " + migration.Namespace + "/" + migration.Name, Destination: view.DestinationOf(migration)}, now)
	m.Source = name{of.Source.Namespace, of.Source.StatefulSet}
	m.Moved, m.Total, m.Started, m.Ended, m.handoffs = of.Moved, of.Total, of.Started, of.Ended, of.Handoffs
	var down []time.Duration
	for _, h := range of.Handoffs {
		if h.DownSeconds != nil {
			down = append(down, inSeconds(*h.DownSeconds))
		}
	}
	if len(down) > 0 {
		spread := view.SpreadOf(down)
		m.Down, m.LongestDown = new(view.Exact(spread.Median)), new(view.Exact(spread.Longest))
	}
}

// readLeft reads the remains in namespaces of the source's cluster.
func (r *course) readLeft(ctx context.Context, connection *clusters.Connection, namespaces []string) error {
	volumes, err := kept.All(ctx, connection.Live(), plan.Kubectl(connection.Name(), connection.Flags()))
	if err != nil {
		return err
	}
	from := sets.Of(connection)
	for _, namespace := range namespaces {
		found, err := from.Read(ctx, sets.Scope{Namespace: namespace, Selector: labels.Everything()})
		if err != nil {
			return err
		}
		next := left{Namespace: namespace, Running: []string{}, Empty: []string{}}
		for _, set := range found {
			if ptr.Deref(set.Spec.Replicas, 1) > 0 {
				next.Running = append(next.Running, set.Name)
			} else {
				next.Empty = append(next.Empty, set.Name)
			}
		}
		for _, v := range volumes {
			if strings.HasPrefix(v.Claim, namespace+"/") {
				next.Volumes++
			}
		}
		r.Left = append(r.Left, next)
	}
	return nil
}

// page returns the report as a document.
func (r course) page() page.Page {
	p := page.Page{
		Title: fmt.Sprintf("Evacuation %s/%s", r.Namespace, r.Name),
		Lead:  fmt.Sprintf("%s: %s StatefulSets of cluster %s have moved.", cmp.Or(r.State, "Not begun"), cmp.Or(r.Progress, "none of the"), r.Cluster),
		Note:  fmt.Sprintf("From the status of the Evacuation and its Migrations in cluster %s at %s.", r.Cluster, r.Time.UTC().Format(time.RFC3339)),
		Chart: r.chart(),
	}
	moves := page.Section{Title: "Moves", Head: []string{"StatefulSet", "Migration", "State", "Moved", "Started", "Ended", "Down, median and longest", "Why"}}
	for _, m := range r.Migrations {
		moves.Rows = append(moves.Rows, []string{
			m.Source.Namespace + "/" + m.Source.Name, m.Migration, string(m.State), fmt.Sprintf("%d/%d", m.Moved, m.Total), moment(m.Started), moment(m.Ended), m.down(), m.Message,
		})
	}
	behind := page.Section{Title: "Left behind, by namespace", Head: []string{"Namespace", "StatefulSets that run", "StatefulSets without replicas", "Volumes"}}
	for _, l := range r.Left {
		behind.Rows = append(behind.Rows, []string{l.Namespace, listed(l.Running), listed(l.Empty), strconv.Itoa(l.Volumes)})
	}
	p.Sections = []page.Section{moves, behind}
	return p
}

// moment returns a time for the report.
func moment(t *time.Time) string {
	if t == nil {
		return ""
	}
	return t.UTC().Format(time.DateTime)
}

// down returns the median and the longest downtime of the ordinals.
func (m moved) down() string {
	if m.Down == nil {
		return ""
	}
	return fmt.Sprintf("%s, %s", view.Duration(inSeconds(*m.Down)), view.Duration(inSeconds(*m.LongestDown)))
}

// chart returns the picture of the moves that have begun; nil if none has.
func (r course) chart() *chart.Chart {
	c := &chart.Chart{
		Title: fmt.Sprintf("Evacuation %s/%s", r.Namespace, r.Name), Description: "A row for each StatefulSet; the tables below say the same.",
		Source: "at cluster " + r.Cluster, Destination: "at the destination", Away: "an ordinal is down",
	}
	for _, m := range r.Migrations {
		if m.Started == nil {
			continue
		}
		if c.Begin.IsZero() || m.Started.Before(c.Begin) {
			c.Begin = *m.Started
		}
		end := ptr.Deref(m.Ended, r.Time)
		if end.After(c.End) {
			c.End = end
		}
	}
	if c.Begin.IsZero() {
		return nil
	}
	for _, m := range r.Migrations {
		if m.Started != nil {
			c.Lanes = append(c.Lanes, m.lane(c.Begin, c.End))
		}
	}
	return c
}

// lane returns the row of a set: at the source until an ordinal of it is down for the first time.
func (m moved) lane(begin, end time.Time) chart.Lane {
	lane, since := chart.Lane{Label: m.Source.Namespace + "/" + m.Source.Name}, begin
	place := chart.AtSource
	for _, h := range m.handoffs {
		if h.Stopped == nil || h.DownSeconds == nil {
			continue
		}
		up := h.Stopped.Add(inSeconds(*h.DownSeconds))
		lane.Spans = append(
			lane.Spans,
			chart.Span{From: since, To: *h.Stopped, Place: place},
			chart.Span{From: *h.Stopped, To: up, Place: chart.OnItsWay, Text: fmt.Sprintf("ordinal %d down for %s", h.Ordinal, view.Duration(inSeconds(*h.DownSeconds)))},
		)
		since = up
	}
	if m.State == api.EvacuatedMoved {
		place = chart.AtDestination
	}
	lane.Spans = append(lane.Spans, chart.Span{From: since, To: end, Place: place})
	return lane
}
