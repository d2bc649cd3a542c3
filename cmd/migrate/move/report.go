package move

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sliceshift/sliceshift/cmd/migrate/command"
	"github.com/sliceshift/sliceshift/cmd/migrate/evacuate"
	"github.com/sliceshift/sliceshift/cmd/migrate/kept"
	"github.com/sliceshift/sliceshift/cmd/migrate/terminal"
	"github.com/sliceshift/sliceshift/internal/records"
	"github.com/sliceshift/sliceshift/migration/report"
	"github.com/sliceshift/sliceshift/migration/report/page"
	"github.com/sliceshift/sliceshift/migration/stage"
	"github.com/sliceshift/sliceshift/migration/view"
)

// reportOptions are the options of the command report.
type reportOptions struct {
	named
	output *command.Choice
	logs   []string
	// evacuation is the name of an Evacuation, if the report is about all of its Migrations.
	evacuation string
}

const reportHelp = `Reports what a migration has done, so far or until its end: when each ordinal moved, how
many replicas were available, which copied volumes it started on and how these were shown
to be equal, where it stalled and why, and which processes drove it. It uses the status of
a Migration or the record of a run. It also lists the volumes that ordinals have left
behind in that cluster.

With --log it also has each write, from the file that "run --log" has appended to. The
status keeps the last 64 handoffs and the last 32 seals; of a longer move the log has the
others.

With -o html it is one file that loads nothing: it can be mailed, archived and printed.

evacuation/NAME reports on all Migrations of an Evacuation: each with its planned, its real
and its expected time, as a picture with -o svg. It lists by namespace what its
StatefulSets have left behind in that cluster.`

const reportExamples = `  # As text
  migrate report web -n shop --context east

  # For a change board, with each write
  migrate report web -n shop --context east --log web.log -o html >web.html

  # For a program
  migrate report web -n shop --context east -o json | jq .handoffs

  # All moves of an Evacuation, planned beside real
  migrate report evacuation/all -n shop --context east -o svg >all.svg`

func newReport(c *command.Common) *cobra.Command {
	o := &reportOptions{named: named{Common: c}}
	cmd := c.Command(o, &cobra.Command{
		Use: "report NAME", Short: "Report what a migration has done",
		Long: reportHelp, Example: reportExamples,
	})
	o.output = command.AddOutput(cmd, "md", "html", "json", "svg")
	cmd.Flags().StringArrayVar(&o.logs, "log", nil, "a file that run --log has written; may be given several times")
	return cmd
}

// Complete reads the name of a migration, or of an Evacuation.
func (o *reportOptions) Complete(cmd *cobra.Command, args []string) error {
	var err error
	if o.evacuation, err = evacuationIn(args); o.evacuation != "" || err != nil {
		return err
	}
	return o.named.Complete(cmd, args)
}

// Validate rejects invalid combinations of flags.
func (o *reportOptions) Validate() error {
	if o.evacuation != "" && len(o.logs) > 0 {
		return command.Usagef("--log is for the report of a single migration")
	}
	if o.evacuation == "" && o.output.Value == "svg" {
		return command.Usagef("-o svg is for evacuation/NAME")
	}
	return nil
}

// Run reads the migration and prints its report.
func (o *reportOptions) Run(ctx context.Context) error {
	if o.evacuation != "" {
		return evacuate.Report(ctx, o.Common, o.evacuation, o.output.Value)
	}
	entries, err := o.entries()
	if err != nil {
		return err
	}
	k, err := o.find(ctx)
	if err != nil {
		return err
	}
	at := report.Place{Cluster: k.connection.Name(), Record: k.where, Destination: view.DestinationOf(k.Migration), Run: k.record}
	r := report.Of(k.Migration, at, k.connection.ServerTime(o.Clock.Now())).WithLog(entries)
	r = o.compared(ctx, k, r)
	left, err := kept.Of(ctx, k.connection.Live(), k.kubectl(), k.Migration)
	if err != nil {
		fmt.Fprintf(o.ErrOut, "cluster %s: the volumes that ordinals have left behind are not known: %v; the report leaves them out\n", k.connection.Name(), err)
	}
	for _, v := range left {
		r.Kept = append(r.Kept, report.Kept{Volume: v.Name, Claim: v.Claim, Disk: string(v.Disk), Remove: v.Remove})
	}
	if u := k.undriven(o.Common); u != nil {
		r.Undriven = u.Text() + "; " + o.howOn(k)
	}
	if err := o.print(r); err != nil {
		return err
	}
	return o.refuseUndriven(k)
}

// compared adds the comparison with the last rehearsal of the move, if there was one.
func (o *reportOptions) compared(ctx context.Context, k *storedMigration, r report.Report) report.Report {
	from, to := k.Spec.Source, k.Spec.Destination
	store := &stage.Store{Client: k.connection.Live(), Namespace: cmp.Or(from.Namespace, k.Namespace), Set: from.Name}
	record, err := store.Load(ctx)
	if err != nil {
		fmt.Fprintf(o.ErrOut, "cluster %s: whether the move was rehearsed is not known: %v; the report leaves it out\n", k.connection.Name(), err)
	}
	if record == nil {
		return r
	}
	known := record.Known()
	cluster := types.UID(k.Annotations[records.DestinationAnnotationKey])
	if known == nil || !known.Of(cluster, cmp.Or(to.Namespace, k.Namespace), cmp.Or(to.Name, from.Name)) {
		return r
	}
	return r.WithRehearsal(*known, k.Migration)
}

// print prints the report in the requested format.
func (o *reportOptions) print(r report.Report) error {
	switch o.output.Value {
	case "json":
		return terminal.Encode(o.Out, "json", r)
	case "html":
		return printPage(o.Out, r.Page())
	}
	_, err := o.Out.Write(page.Markdown(r.Page()))
	return err
}

// printPage prints a document as one HTML file.
func printPage(out io.Writer, p page.Page) error {
	html, err := page.HTML(p)
	if err != nil {
		return err
	}
	_, err = out.Write(html)
	return err
}

// entries returns the entries of all logs.
func (o *reportOptions) entries() ([]report.Entry, error) {
	var all []report.Entry
	for _, path := range o.logs {
		file, err := os.Open(path)
		if err != nil {
			return nil, command.Usagef("--log: %v", err)
		}
		entries, err := report.ReadLog(file)
		_ = file.Close()
		if err != nil {
			return nil, command.Usagef("--log %s: %v", path, err)
		}
		all = append(all, entries...)
	}
	return all, nil
}
