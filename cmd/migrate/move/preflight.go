package move

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/cmd/migrate/command"
	"github.com/sliceshift/sliceshift/cmd/migrate/move/admission"
	"github.com/sliceshift/sliceshift/cmd/migrate/move/flags"
	"github.com/sliceshift/sliceshift/cmd/migrate/move/look"
	"github.com/sliceshift/sliceshift/cmd/migrate/move/preview"
	"github.com/sliceshift/sliceshift/cmd/migrate/terminal"
	"github.com/sliceshift/sliceshift/migration/preflight"
)

// preflightOptions are the options of the command preflight.
type preflightOptions struct {
	moveOptions
	output *command.Choice
	// file is the path of a Migration; empty if the flags describe the move.
	file string
	// all shows every check, also those that passed.
	all bool
}

const preflightHelp = `Runs every check before a move and shows the findings: first those that refuse the move,
then the warnings. It writes nothing, except for dry runs of the objects that the first
ordinal would need. -v shows each check, group by group.

docs/preflight.md explains each check: what it reads, why it matters, and the remedy.

A file has a Migration for the manager. Where the Migration names Secrets with
kubeconfigs, the flags say how this command reaches the same clusters.

Exit codes: 0 a move may begin, 3 it would be refused.`

const preflightExamples = `  # May web move to another cluster of the same kubeconfig?
  migrate preflight web -n shop --context east --to-context west

  # What a manager would find for a Migration that does not exist yet
  migrate preflight -f migration.yaml --context east --to-context west

  # In a pipeline: failures and warnings
  migrate preflight web -n shop --to-namespace store -o json | jq '.groups[].checks[] | select(.verdict != "pass")'`

func newPreflight(c *command.Common) *cobra.Command {
	o := &preflightOptions{moveOptions: moveOptions{Common: c}}
	cmd := c.Command(o, &cobra.Command{
		Use: "preflight (STATEFULSET | -f FILE)", Short: "Run every check before a move; writes nothing",
		Long: preflightHelp, Example: preflightExamples,
	})
	o.to.Add(cmd.Flags())
	o.spec.Add(cmd.Flags())
	cmd.Flags().StringVarP(&o.file, "filename", "f", "", "`FILE` with the Migration to check; - is the standard input")
	cmd.Flags().BoolVarP(&o.all, "verbose", "v", false, "show each check, also those that passed")
	o.output = command.AddOutput(cmd, "table", "json", "yaml")
	return cmd
}

// Complete sets defaults, or reads the Migration from the file.
func (o *preflightOptions) Complete(cmd *cobra.Command, args []string) error {
	if o.file == "" {
		return o.moveOptions.Complete(cmd, args)
	}
	if len(args) > 0 {
		return command.Usagef("-f names the StatefulSet already: remove %q", args[0])
	}
	if asked := askedBy(cmd.Flags()); asked != "" {
		return command.Usagef("-f and --%s exclude each other: the file has this setting", asked)
	}
	m, err := o.read(cmd.Context())
	var refused admission.Refused
	switch {
	case errors.As(err, &refused):
		return command.Refusedf("an API server would refuse the Migration of file %s:\n%w", o.file, refused)
	case err != nil:
		return fmt.Errorf("reading the Migration of file %s: %w", o.file, err)
	}
	if m.Namespace == "" {
		if m.Namespace, err = o.Namespace(); err != nil {
			return err
		}
	}
	o.set, o.namespace = m.Spec.Source.Name, m.Namespace
	o.requested = &api.Migration{ObjectMeta: metav1.ObjectMeta{Namespace: m.Namespace, Name: m.Spec.Source.Name}, Spec: m.Spec}
	return nil
}

// askedBy returns a flag that was set and that describes a move, or an empty string.
func askedBy(given *pflag.FlagSet) (name string) {
	asks := pflag.NewFlagSet("", pflag.ContinueOnError)
	(&flags.Spec{}).Add(asks)
	(&flags.Destination{}).AddPlace(asks)
	given.Visit(func(flag *pflag.Flag) {
		if asks.Lookup(flag.Name) != nil {
			name = flag.Name
		}
	})
	return name
}

func (o *preflightOptions) read(ctx context.Context) (*api.Migration, error) {
	var data []byte
	var err error
	if o.file == "-" {
		data, err = io.ReadAll(o.In)
	} else {
		data, err = os.ReadFile(o.file)
	}
	if err != nil {
		return nil, err
	}
	if data, err = yaml.YAMLToJSONStrict(data); err != nil {
		return nil, err
	}
	return admission.File(ctx, data)
}

// Validate rejects invalid combinations of flags.
func (o *preflightOptions) Validate() error {
	if o.file == "" {
		return o.moveOptions.Validate()
	}
	spec := o.requested.Spec
	if o.to.Kubeconfig == "" && o.to.Context == "" && (spec.Source.KubeConfigSecretRef != nil || spec.Destination.KubeConfigSecretRef != nil) {
		return command.Usagef("the Migration names a kubeconfig in a Secret: give --to-context or --to-kubeconfig, and --context or --kubeconfig where the source is not in this one's cluster")
	}
	return nil
}

// Run runs the checks and prints the results.
func (o *preflightOptions) Run(ctx context.Context) error {
	t, m, stands, err := o.begin(ctx, nil)
	if err != nil {
		return err
	}
	switch stands {
	case preview.Underway:
		return command.Refusedf("the move of StatefulSet %s/%s has begun, and preflight is for moves that have not: see %s", o.namespace, o.set, o.Again("status", o.set, o.namespace))
	case preview.Over:
		return command.Refusedf("the move of StatefulSet %s/%s is completed, and preflight is for moves that have not begun; to begin another one, delete its record: %s",
			o.namespace, o.set, t.kubectl().Remove("configmap", t.store.Namespace, t.store.ObjectName()))
	case preview.Beginning:
	}
	report, err := o.report(ctx, t, m)
	if err != nil {
		return err
	}
	printer := preview.Printer{Out: o.Out, Paint: o.Paint(), Wide: o.all}
	if err := terminal.Print(o.Out, o.output.Value, report, printer.Report); err != nil {
		return err
	}
	if report.Failed > 0 {
		return command.Refusedf("the move of StatefulSet %s/%s would be refused", o.namespace, o.set)
	}
	return nil
}

// report returns the results of all checks.
func (o *preflightOptions) report(ctx context.Context, t *task, m *api.Migration) (preflight.Report, error) {
	if o.inPlace() {
		d, err := look.InPlace(ctx, t.source, m)
		return preflight.NewReportInPlace(d.Findings), err
	}
	snapshot, err := t.observe(ctx, m)
	snapshot.Record.Fence = nil // an epoch of an earlier move belongs to no other process
	if err != nil {
		return preflight.Report{}, err
	}
	return preflight.NewReport(preflight.Findings(snapshot)), nil
}
