package evacuate

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sliceshift/sliceshift/cmd/migrate/command"
	"github.com/sliceshift/sliceshift/cmd/migrate/kept"
	"github.com/sliceshift/sliceshift/cmd/migrate/sets"
	"github.com/sliceshift/sliceshift/cmd/migrate/terminal"
	"github.com/sliceshift/sliceshift/internal/clusters"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/migration/report/chart"
	"github.com/sliceshift/sliceshift/migration/report/page"
	"github.com/sliceshift/sliceshift/migration/view"
)

// left are the remains in a namespace of the source's cluster.
type left struct {
	Namespace string `json:"namespace"`
	// Running are the StatefulSets with replicas, and Empty those without.
	Running []string `json:"running"`
	Empty   []string `json:"empty"`
	// Volumes is the number of volumes that ordinals have left behind; absent if the user may not list volumes.
	Volumes *int `json:"keptVolumes,omitempty"`
}

// Report prints the report of an Evacuation as Markdown, HTML, SVG or JSON.
func Report(ctx context.Context, c *command.Common, evacuation, format string) error {
	connection, namespace, err := c.ConnectTo()
	if err != nil {
		return err
	}
	r, err := readCourse(ctx, connection, client.ObjectKey{Namespace: namespace, Name: evacuation}, c.Clock.Now)
	if err != nil {
		return err
	}
	if err := r.readLeft(ctx, connection); err != nil {
		return command.Unreachable(connection.Name(), err)
	}
	switch format {
	case "json":
		return terminal.Encode(c.Out, format, r)
	case "svg":
		return r.svg(c.Out)
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

// Page returns the state of an Evacuation as a document, without the remains in the source's cluster.
func Page(ctx context.Context, connection *clusters.Connection, namespace, name string, clock func() time.Time) (page.Page, error) {
	r, err := readCourse(ctx, connection, client.ObjectKey{Namespace: namespace, Name: name}, clock)
	return r.page(), err
}

// svg prints the picture, which an Evacuation has once it has begun.
func (r course) svg(out io.Writer) error {
	picture := r.chart()
	if picture == nil {
		return command.Refusedf("Evacuation %s/%s has not begun, so there is no picture of it", r.Namespace, r.Name)
	}
	image, err := chart.SVG(*picture)
	if err == nil {
		_, err = io.WriteString(out, string(image))
	}
	return err
}

// readLeft reads the remains in the namespaces from which StatefulSets move.
func (r *course) readLeft(ctx context.Context, connection *clusters.Connection) error {
	namespaces := map[string]bool{}
	for _, m := range r.Migrations {
		if m.Source.Namespace != "" {
			namespaces[m.Source.Namespace] = true
		}
	}
	volumes, err := kept.All(ctx, connection.Live(), plan.Kubectl(connection.Name(), connection.Flags()))
	hidden := apierrors.IsForbidden(err)
	if err != nil && !hidden {
		return err
	}
	from := sets.Of(connection)
	for _, namespace := range slices.Sorted(maps.Keys(namespaces)) {
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
		if !hidden {
			next.Volumes = new(len(slices.DeleteFunc(slices.Clone(volumes), func(v kept.Volume) bool { return !strings.HasPrefix(v.Claim, namespace+"/") })))
		}
		r.Left = append(r.Left, next)
	}
	return nil
}

// page returns the report as a document.
func (r course) page() page.Page {
	p := page.Page{
		Title: fmt.Sprintf("Evacuation %s/%s", r.Namespace, r.Name),
		Lead:  r.lead(),
		Note:  fmt.Sprintf("From the status of the Evacuation and its Migrations in cluster %s at %s.", r.Cluster, r.Time.UTC().Format(time.RFC3339)),
		Chart: r.chart(),
	}
	for _, fact := range r.times() {
		p.Facts = append(p.Facts, page.Fact{Name: fact[0], Value: fact[1]})
	}
	moves := page.Section{Title: "Moves", Head: []string{"StatefulSet", "Migration", "State", "Moved", "Planned", "Started", "Ended", "Down, median and longest", "Why"}}
	for _, m := range r.Migrations {
		moves.Rows = append(moves.Rows, []string{m.title(), m.Migration, string(m.State), fmt.Sprintf("%d/%d", m.Moved, m.Total), m.planned(), r.clock(m.Started), r.endOf(m), m.down(), m.Message})
	}
	p.Sections = []page.Section{moves}
	if len(r.Left) == 0 {
		return p
	}
	behind := page.Section{Title: "Left behind, by namespace", Head: []string{"Namespace", "StatefulSets that run", "StatefulSets without replicas", "Volumes"}}
	for _, l := range r.Left {
		volumes := "?"
		if l.Volumes != nil {
			volumes = strconv.Itoa(*l.Volumes)
		}
		behind.Rows = append(behind.Rows, []string{l.Namespace, listed(l.Running), listed(l.Empty), volumes})
	}
	p.Sections = append(p.Sections, behind)
	return p
}

// lead returns the course in one sentence.
func (r course) lead() string {
	return fmt.Sprintf("%s: %s StatefulSets and %d of %d ordinals of cluster %s have moved.", cmp.Or(r.State, "Not begun"), cmp.Or(r.Progress, "none of the"), r.Arrived, r.Ordinals, r.Cluster)
}

// times returns the planned and the expected times as names and values.
func (r course) times() (all [][2]string) {
	if r.Started != nil {
		all = append(all, [2]string{"Began", moment(r.Started) + " UTC"})
	}
	if r.PlannedSeconds != nil {
		text := view.Coarse(inSeconds(*r.PlannedSeconds))
		if r.Started != nil {
			text += ", until " + r.Started.Add(inSeconds(*r.PlannedSeconds)).Format(time.DateTime) + " UTC"
		}
		all = append(all, [2]string{"Planned", text})
	}
	switch {
	case r.LeftSeconds == nil && r.Stuck > 0:
		all = append(all, [2]string{"Expected", fmt.Sprintf("no end: %s cannot continue without a change", view.Count(r.Stuck, "StatefulSet"))})
	case r.LeftSeconds != nil:
		from := "the plan"
		if r.Measured > 0 {
			from = view.Count(int(r.Measured), "handoff") + " so far"
		}
		text := fmt.Sprintf("about %s left, until %s UTC, from %s", view.Coarse(inSeconds(*r.LeftSeconds)), r.Ends.Format(time.DateTime), from)
		if r.Stuck > 0 {
			text += fmt.Sprintf("; without %s that cannot continue", view.Count(r.Stuck, "StatefulSet"))
		}
		all = append(all, [2]string{"Expected", text})
	}
	if ended := r.ended(); r.settled && ended != nil && r.Started != nil {
		all = append(all, [2]string{"Ended", fmt.Sprintf("%s UTC, after %s", moment(ended), view.Coarse(ended.Sub(*r.Started)))})
	}
	return all
}

// ended returns the end of the last Migration that has ended; nil if none has.
func (r course) ended() (last *time.Time) {
	for _, m := range r.Migrations {
		if m.Ended != nil && (last == nil || m.Ended.After(*last)) {
			last = m.Ended
		}
	}
	return last
}

// title returns the name of the StatefulSet, or that of a Migration that does not exist.
func (m moved) title() string {
	if m.Source.Name == "" {
		return m.Migration
	}
	return m.Source.Namespace + "/" + m.Source.Name
}

// planned returns the planned time; empty if there is none.
func (m moved) planned() string {
	if m.Planned == nil {
		return ""
	}
	return fmt.Sprintf("+%s to +%s", view.Coarse(time.Duration(m.Planned.BeginSeconds)*time.Second), view.Coarse(time.Duration(m.Planned.EndSeconds)*time.Second))
}

// endOf returns when a Migration ended, or when it is expected to.
func (r course) endOf(m moved) string {
	if m.Ended == nil && m.Expected != nil {
		return "about " + r.clock(&m.Expected.End)
	}
	return r.clock(m.Ended)
}

// clock returns a time in a table: with its day if that is not the one on which the Evacuation began.
func (r course) clock(t *time.Time) string {
	if t != nil && r.Started != nil && t.UTC().Format(time.DateOnly) == r.Started.Format(time.DateOnly) {
		return t.UTC().Format(time.TimeOnly)
	}
	return moment(t)
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
