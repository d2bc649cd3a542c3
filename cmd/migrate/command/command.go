// Package command is what all commands share: the process that they run in, the
// clusters that their flags lead to, the steps of their options, and their exit codes.
package command

import (
	"context"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/cli-runtime/pkg/genericclioptions"

	"github.com/sliceshift/sliceshift/cmd/migrate/terminal"
	"github.com/sliceshift/sliceshift/internal/clusters"
)

// Options are those of one command. The three steps are kubectl's.
type Options interface {
	// Complete takes the arguments and fills in the defaults, without a request to any cluster.
	Complete(cmd *cobra.Command, args []string) error
	// Validate refuses what cannot be meant.
	Validate() error
	// Run carries the command out.
	Run(ctx context.Context) error
}

// Common is what all commands share: the process and the persistent flags. Embedded into options
// it is their first two steps, where a command takes no arguments and any flags can be meant.
type Common struct {
	Environment
	// Config are the flags of kubectl that lead to the source.
	Config *genericclioptions.ConfigFlags
	color  *Choice
}

// NewCommon is that of one process.
func NewCommon(env Environment) *Common {
	return &Common{Environment: env, Config: genericclioptions.NewConfigFlags(false), color: NewChoice("auto", "auto", "always", "never")}
}

// Command makes a command of its options.
func (c *Common) Command(o Options, cmd *cobra.Command) *cobra.Command {
	cmd.Example = c.example(cmd.Example)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := o.Complete(cmd, args); err != nil {
			return err
		}
		if err := o.Validate(); err != nil {
			return err
		}
		return o.Run(cmd.Context())
	}
	return cmd
}

// ParentCommand makes a command that only leads to others.
func (c *Common) ParentCommand(cmd *cobra.Command) *cobra.Command {
	cmd.Example = c.example(cmd.Example)
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return nil
		}
		return unknownVerb(cmd, args[0])
	}
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	return cmd
}

// Complete implements Options for a command without arguments.
func (c *Common) Complete(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return Usagef("%s takes no arguments, %q was given", cmd.CommandPath(), args[0])
	}
	return nil
}

// Validate implements Options for a command of which any flags can be meant.
func (c *Common) Validate() error { return nil }

// Paint decides about colour: the flag first, then https://no-color.org, then
// whether anybody looks.
func (c *Common) Paint() terminal.Painter {
	switch c.color.Value {
	case "always":
		return terminal.Painter{On: true}
	case "never":
		return terminal.Painter{}
	}
	return terminal.Painter{On: c.Getenv("NO_COLOR") == "" && c.Terminal()}
}

// Argument is the argument of a command that takes exactly one. A name may be written
// with its kind, as kubectl prints it.
func Argument(cmd *cobra.Command, args []string, what string) (string, error) {
	if len(args) != 1 {
		return "", Usagef("%s takes one %s, %d were given", cmd.CommandPath(), what, len(args))
	}
	name := args[0]
	if kind, rest, found := strings.Cut(name, "/"); found {
		switch strings.ToLower(kind) {
		case "statefulset", "statefulsets", "sts", "statefulset.apps", "migration", "migrations", "mig", "migration.migration.sliceshift.io":
			name = rest
		default:
			return "", Usagef("%q is not a %s", args[0], what)
		}
	}
	if name == "" {
		return "", Usagef("the %s has no name", what)
	}
	return name, nil
}

// DryRun is the flag --dry-run of a command that writes an object.
type DryRun struct{ *Choice }

// AddDryRun adds the flag; what says what a dry run does that asks no cluster.
func AddDryRun(flags *pflag.FlagSet, what string) DryRun {
	d := DryRun{NewChoice("none", "none", "client", "server")}
	flags.Var(d, "dry-run", "client: "+what+"; server: let the API server judge it, without keeping it")
	flags.Lookup("dry-run").NoOptDefVal = "client"
	return d
}

// Client says whether nothing is sent to a cluster.
func (d DryRun) Client() bool { return d.Value == "client" }

// OfRequest is what a write to the API server says of it.
func (d DryRun) OfRequest() []string {
	if d.Value == "server" {
		return []string{metav1.DryRunAll}
	}
	return nil
}

// Suffix follows what is said to be done.
func (d DryRun) Suffix() string {
	return map[string]string{"client": " (dry run)", "server": " (server dry run)"}[d.Value]
}

// Result is how a command says what it has done: in kubectl's words, or by printing the object.
type Result struct{ format *genericclioptions.PrintFlags }

// AddResult adds the flag --output to a command.
func AddResult(cmd *cobra.Command) Result {
	format := genericclioptions.NewPrintFlags("").WithTypeSetter(clusters.NewScheme())
	format.TemplatePrinterFlags = nil
	cmd.Flags().StringVarP(format.OutputFormat, "output", "o", "", "format of the output: yaml, json or name")
	return Result{format}
}

// Format is the format that was asked for; empty for kubectl's words.
func (r Result) Format() string { return *r.format.OutputFormat }

// Validate refuses a format that there is not.
func (r Result) Validate() error {
	if _, err := r.format.ToPrinter(); err != nil {
		return usageError(err)
	}
	return nil
}

// PrintResult writes "statefulset.apps.sliceshift.io/web <done>", or the object.
func (c *Common) PrintResult(r Result, object runtime.Object, done string) error {
	r.format.NamePrintFlags.Operation = done
	printer, err := r.format.ToPrinter()
	if err != nil {
		return usageError(err)
	}
	return printer.PrintObj(object, c.Out)
}
