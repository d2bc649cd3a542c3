package move

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/cmd/migrate/command"
	"github.com/sliceshift/sliceshift/cmd/migrate/evacuate"
	"github.com/sliceshift/sliceshift/cmd/migrate/kept"
	"github.com/sliceshift/sliceshift/cmd/migrate/move/status"
	"github.com/sliceshift/sliceshift/cmd/migrate/terminal"
	"github.com/sliceshift/sliceshift/internal/records"
	"github.com/sliceshift/sliceshift/migration/view"
)

// statusOptions are the options of the command status.
type statusOptions struct {
	named
	output *command.Choice
	watch  bool
	// all lists the migrations of all namespaces.
	all     bool
	timeout time.Duration
	// evacuation is the name of an Evacuation, if the state is that of all its Migrations.
	evacuation string
}

const statusHelp = `Without a name it lists the migrations of the namespace, or with -A of all: Migrations, and
the records of runs.

With a name it shows the state of that migration: from a Migration or, when there is none,
from the record that a run keeps beside the StatefulSet.

With -o json or yaml it prints the Migration, with the figures of all screens under "view":
the moved ordinals, the ordinal in flight and since when it is down, the remaining time,
the time of these figures, and whether a process drives it.

With -w it shows the state again on every change, until the migration is completed: on a
terminal in place, elsewhere one line for each change. It writes nothing, and only Ctrl-C
does anything there. It waits for a migration that does not exist yet, such as right after
the start of a run: for a minute, or as long as --timeout says.

evacuation/NAME shows all Migrations of an Evacuation: the planned time of each above its
real one, and the expected rest, from the handoffs so far. With -w it ends when all have
moved, or are rolled back.

Exit codes: 0 done, with -w completed; 1 error or interrupted, without -w also that there is
no such migration; 2 usage; 3 the migration is stalled (without -w), or no process drives it; 4 timeout, or with -w
the migration has not appeared.`

const statusExamples = `  # All migrations
  migrate status -A --context east

  # One migration
  migrate status web -n shop --context east

  # Watch it to its end
  migrate status web -n shop --context east -w

  # All moves of an Evacuation, as they go
  migrate status evacuation/all -n shop --context east -w

  # For a program
  migrate status web -n shop --context east -o json | jq .view.moved`

func newStatus(c *command.Common) *cobra.Command {
	o := &statusOptions{named: named{Common: c}}
	cmd := c.Command(o, &cobra.Command{
		Use: "status [NAME]", Short: "List migrations, or show the state of one",
		Long: statusHelp, Example: statusExamples,
	})
	o.output = command.AddOutput(cmd, "table", "wide", "json", "yaml")
	cmd.Flags().BoolVarP(&o.all, "all-namespaces", "A", false, "without a name: list the migrations of all namespaces")
	cmd.Flags().BoolVarP(&o.watch, "watch", "w", false, "show it again whenever it changes, until it is completed")
	cmd.Flags().DurationVar(&o.timeout, "timeout", 0, "with -w: give up after this time (default: never, once it exists)")
	return cmd
}

// Complete reads the name, if there is one.
func (o *statusOptions) Complete(cmd *cobra.Command, args []string) error {
	name, err := evacuationIn(args)
	if name != "" || err != nil {
		o.name, o.evacuation = args[0], name
		return err
	}
	if len(args) == 0 {
		return nil
	}
	return o.named.Complete(cmd, args)
}

// Validate rejects invalid combinations of flags.
func (o *statusOptions) Validate() error {
	if o.name == "" && o.watch {
		return command.Usagef("-w shows one migration: give its name")
	}
	if o.name != "" && o.output.Value == "wide" {
		return command.Usagef("-o wide is for the list, without a name")
	}
	if o.name != "" && o.all {
		return command.Usagef("--all-namespaces is for the list, without a name")
	}
	if o.all && *o.Config.Namespace != "" {
		return command.Usagef("--namespace and --all-namespaces exclude each other")
	}
	if o.timeout != 0 && !o.watch {
		return command.Usagef("--timeout is for -w")
	}
	return command.ValidateTimeout(o.timeout)
}

// Run prints the status once, or until the migration is completed.
func (o *statusOptions) Run(ctx context.Context) error {
	switch {
	case o.name == "":
		return o.list(ctx)
	case o.evacuation != "":
		screen := &evacuate.Screen{Common: o.Common, Evacuation: o.evacuation, Format: o.output.Value}
		if o.watch {
			return command.Within(ctx, o.timeout, screen.Watch)
		}
		return screen.Show(ctx)
	}
	if o.watch {
		return command.Within(ctx, o.timeout, o.watched)
	}
	k, err := o.find(ctx)
	if err != nil {
		return err
	}
	text := func(exportedMigration) error {
		_, err := fmt.Fprint(o.Out, o.page(max(0, o.Width()-1), k), strings.Join(k.kept(ctx, o.Program), ""))
		return err
	}
	if err := terminal.Print(o.Out, o.output.Value, k.exported(o.Common), text); err != nil {
		return err
	}
	if err := o.refuseUndriven(k); err != nil {
		return err
	}
	if stall := view.StallOf(k.Migration); stall != nil {
		return command.Refusedf("%s is stalled: %s", k.title(), stall.Reason)
	}
	return nil
}

// watched waits until the migration exists, and shows it until it is completed.
func (o *statusOptions) watched(ctx context.Context) error {
	k, err := o.appear(ctx, o.timeout)
	if err != nil {
		return err
	}
	return o.follow(ctx, k)
}

func (o *statusOptions) page(width int, k *storedMigration) string {
	g := &status.Page{Now: k.connection.ServerTime(o.Clock.Now()), Paint: o.Paint(), Unicode: o.Unicode() && o.Terminal(), Width: width}
	record := ""
	if k.record {
		record = k.where
	}
	if u := k.undriven(o.Common); u != nil {
		g.Undriven = u.Text() + "; " + o.howOn(k)
	}
	return g.Show(k.Migration, k.connection.Name(), record)
}

// kept returns the lines for a completed migration about the volumes that ordinals have left behind: those in the
// cluster that stores the migration, and the command that lists those in the other one.
func (k *storedMigration) kept(ctx context.Context, program string) []string {
	if records.Completed(k.Migration) == "" {
		return nil
	}
	cluster := k.connection.Name()
	all, err := kept.Of(ctx, k.connection.Live(), k.kubectl(), k.Migration)
	if err != nil {
		return []string{fmt.Sprintf("Kept         not known, cluster %s: %v; with the right to list persistentvolumes: %s kept\n", cluster, err, program)}
	}
	lines := kept.Lines(cluster, all)
	if len(lines) == 0 {
		lines = []string{"no volume in cluster " + cluster}
	}
	lines = append(lines, fmt.Sprintf("to list the volumes left in the destination's cluster: %s kept --context DESTINATION", program))
	for i, line := range lines {
		lines[i] = terminal.Pad(map[bool]string{true: "Kept"}[i == 0], keptWidth) + line + "\n"
	}
	return lines
}

// keptWidth is the column at which the values of the status begin.
const keptWidth = 13

// exportedMigration is a migration in the form that kubectl prints. The field view has the figures that every screen
// shows.
type exportedMigration struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              api.MigrationSpec   `json:"spec"`
	Status            api.MigrationStatus `json:"status"`
	View              exportedView        `json:"view"`
}

type exportedView struct {
	view.Row
	Ordinals []view.Ordinal `json:"ordinals"`
	// Time is the time of the API server for the figures that grow.
	Time time.Time `json:"time"`
}

// exported returns the migration as a document for programs.
func (k *storedMigration) exported(c *command.Common) exportedMigration {
	row, m := k.row(c), exported(k.Migration)
	return exportedMigration{
		TypeMeta: m.TypeMeta, ObjectMeta: m.ObjectMeta, Spec: m.Spec, Status: m.Status,
		View: exportedView{Row: row, Ordinals: row.Ordinals(), Time: k.connection.ServerTime(c.Clock.Now()).UTC()},
	}
}

// exported returns a migration in the form that kubectl prints.
func exported(m *api.Migration) *api.Migration {
	out := m.DeepCopy()
	out.APIVersion, out.Kind = api.GroupVersion.String(), "Migration"
	out.ManagedFields = nil
	return out
}

// row returns the figures that every screen shows of the migration.
func (k *storedMigration) row(c *command.Common) view.Row {
	return view.NewRow(k.Migration, k.record).At(k.Migration, k.connection.ServerTime(c.Clock.Now()))
}
