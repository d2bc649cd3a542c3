package move

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"
	"unicode/utf8"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/cmd/migrate/command"
	"github.com/sliceshift/sliceshift/cmd/migrate/terminal"
	"github.com/sliceshift/sliceshift/internal/clusters"
	"github.com/sliceshift/sliceshift/internal/records"
)

// storedIn returns the Migrations and the records of runs in a namespace, sorted by namespace and name. An empty
// namespace means all namespaces.
func storedIn(ctx context.Context, connection *clusters.Connection, namespace string) ([]*storedMigration, error) {
	served, err := connection.Serves(ctx, &api.Migration{})
	if err != nil {
		return nil, err
	}
	found, err := records.List(served, func(list client.ObjectList, options ...client.ListOption) error {
		return connection.Live().List(ctx, list, append(options, client.InNamespace(namespace))...)
	})
	all := make([]*storedMigration, 0, len(found))
	for _, m := range found { // status NAME reports an unreadable record
		all = append(all, &storedMigration{Migration: m.Migration, connection: connection, record: m.Record != ""})
	}
	slices.SortFunc(all, func(a, b *storedMigration) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	return all, err
}

// list prints the migrations of a namespace, or of all.
func (o *statusOptions) list(ctx context.Context) error {
	connection, namespace, err := o.ConnectTo()
	if err != nil {
		return err
	}
	where := "namespace " + namespace
	if o.all {
		namespace, where = "", "any namespace"
	}
	all, err := storedIn(ctx, connection, namespace)
	if err != nil {
		return command.Unreachable(connection.Name(), err)
	}
	list := exportedList{TypeMeta: metav1.TypeMeta{APIVersion: api.GroupVersion.String(), Kind: "MigrationList"}, Items: []exportedMigration{}}
	for _, k := range all {
		list.Items = append(list.Items, k.exported(o.Common))
	}
	return terminal.Print(o.Out, o.output.Value, list, func(exportedList) error {
		if len(all) == 0 {
			fmt.Fprintf(o.ErrOut, "No migration found in %s of cluster %s.\n", where, connection.Name())
			return nil
		}
		return o.table(list)
	})
}

// exportedList is a list in the form that kubectl prints. Each item has the computed figures that the screens show.
type exportedList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata"`
	Items           []exportedMigration `json:"items"`
}

// nowColumn is the index of the column NOW, which is wrapped where the terminal is narrow.
const nowColumn = 3

// table prints migrations as kubectl does, one row each. On a narrow terminal the text of column NOW is wrapped to keep
// the row within the width.
func (o *statusOptions) table(list exportedList) error {
	wide := o.output.Value == "wide"
	head := []string{"NAME", "STATE", "MOVED", "NOW", "DESTINATION", "AGE"}
	if wide {
		head = append(head, "SOURCE", "MODE", "KEPT IN")
	}
	at := nowColumn
	if o.all {
		head, at = append([]string{"NAMESPACE"}, head...), at+1
	}
	var rows [][]string
	for i := range list.Items {
		row, created := list.Items[i].View, list.Items[i].CreationTimestamp.Time
		cells := []string{row.Name, row.StateText(), fmt.Sprintf("%d/%d", row.Moved, row.Total), row.Now, row.Sides[1].Name, age(row.Time, created)}
		if wide {
			cells = append(cells, row.Sides[0].Name, string(row.Mode), row.Where())
		}
		if o.all {
			cells = append([]string{row.Namespace}, cells...)
		}
		rows = append(rows, cells)
	}
	t := terminal.Table{Head: head}
	for _, lines := range wrapColumn(head, rows, at, o.Width()) {
		t.Add(nil, lines...)
	}
	return t.Write(o.Out, o.Paint())
}

// wrapColumn wraps the cells of one column so that rows fit the width; 0 means any width.
func wrapColumn(head []string, rows [][]string, at, width int) [][]string {
	const gap = 3
	widest := make([]int, len(head))
	for _, row := range append([][]string{head}, rows...) {
		for i, cell := range row {
			widest[i] = max(widest[i], utf8.RuneCountInString(cell))
		}
	}
	room := width - 1
	for i := range widest {
		if i != at {
			room -= widest[i] + gap
		}
	}
	if width == 0 || room >= widest[at] {
		return rows
	}
	var out [][]string
	for _, row := range rows {
		for nth, line := range terminal.Wrap(row[at], max(room, terminal.LeastWidth)) {
			cells := make([]string, len(row))
			if nth == 0 {
				copy(cells, row)
			}
			cells[at] = line
			out = append(out, cells)
		}
	}
	return out
}

// age returns the age of an object as kubectl prints it.
func age(now, created time.Time) string {
	if created.IsZero() {
		return "<unknown>"
	}
	return duration.HumanDuration(now.Sub(created))
}
