package storage

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"github.com/sliceshift/sliceshift/volumes/drift"
)

// row is a line of the table: the claims of one template that differ in the same way.
type row struct {
	namespace, set, owner, template string
	ordinals                        []int32
	field                           drift.Field
	has, wants, needs, why          string
	// explain is true if the other columns do not show the reason.
	explain bool
}

// head returns the names of the columns.
func head(namespaces, wide bool) []string {
	return columns(namespaces, wide, []string{"NAMESPACE", "STATEFULSET", "OWNER", "TEMPLATE", "ORDINALS", "FIELD", "CLAIM HAS", "TEMPLATE HAS", "NEEDS", "WHY"})
}

// cells returns the line.
func (r row) cells(namespaces, wide bool) []string {
	return columns(namespaces, wide, []string{r.namespace, r.set, r.owner, r.template, ranges(r.ordinals), string(r.field), r.has, r.wants, r.needs, r.why})
}

// columns leaves out the namespace, the first column, and the reason, the last one, if they are not requested.
func columns(namespaces, wide bool, all []string) []string {
	if !namespaces {
		all = all[1:]
	}
	if !wide {
		all = all[:len(all)-1]
	}
	return all
}

// nothing stands for an empty cell, as in kubectl.
const nothing = "<none>"

// rows returns the lines of a report. Claims of one template with the same difference share a line.
func (r report) rows() []row {
	var rows []row
	for _, it := range r.Items {
		first := len(rows)
		for _, c := range it.Claims {
			for _, next := range c.rows() {
				next.namespace, next.set, next.owner = it.Namespace, it.resource+"/"+it.Name, it.ownerName()
				rows = join(rows, first, next)
			}
		}
	}
	return rows
}

func (it item) ownerName() string {
	if it.Owner == nil {
		return nothing
	}
	return it.Owner.Kind + "/" + it.Owner.Name
}

// rows returns the lines of one claim.
func (c judgedClaim) rows() []row {
	var rows []row
	for _, d := range c.Differs {
		rows = append(rows, row{
			template: c.Template, ordinals: []int32{c.Ordinal}, field: d.Field, has: cmp.Or(d.Claim, nothing), wants: cmp.Or(d.Template, nothing),
			needs: string(d.Needs), why: d.Reason, explain: d.Needs == drift.Undecided,
		})
	}
	for _, note := range c.Unknown {
		rows = append(rows, row{template: c.Template, ordinals: []int32{c.Ordinal}, field: note.Field, has: "?", wants: "?", needs: "unknown", why: note.Reason, explain: true})
	}
	return rows
}

// join adds a line to the lines from first on, or its ordinals to an equal one.
func join(rows []row, first int, next row) []row {
	for i := first; i < len(rows); i++ {
		if rows[i].equals(next) {
			rows[i].ordinals = append(rows[i].ordinals, next.ordinals...)
			return rows
		}
	}
	return append(rows, next)
}

func (r row) equals(other row) bool {
	return r.template == other.template && r.field == other.field && r.has == other.has && r.wants == other.wants && r.needs == other.needs && r.why == other.why
}

// ranges returns ascending ordinals in short: 0-2,5.
func ranges(ordinals []int32) string {
	var parts []string
	for i := 0; i < len(ordinals); {
		last := i
		for last+1 < len(ordinals) && ordinals[last+1] == ordinals[last]+1 {
			last++
		}
		part := strconv.Itoa(int(ordinals[i]))
		if last > i {
			part = fmt.Sprintf("%d-%d", ordinals[i], ordinals[last])
		}
		parts, i = append(parts, part), last+1
	}
	return strings.Join(parts, ",")
}
