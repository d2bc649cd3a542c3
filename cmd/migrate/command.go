package main

import (
	"context"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/cli-runtime/pkg/genericclioptions"

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

// common is what all commands share: the process and the persistent flags. Embedded into options
// it is their first two steps, where a command takes no arguments and any flags can be meant.
type common struct {
	environment
	config *genericclioptions.ConfigFlags
	color  *choice
}

func newCommon(env environment) *common {
	return &common{environment: env, config: genericclioptions.NewConfigFlags(false), color: newChoice("auto", "auto", "always", "never")}
}

// command makes a command of its options.
func (c *common) command(o Options, cmd *cobra.Command) *cobra.Command {
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

// lead makes a command that only leads to others.
func (c *common) lead(cmd *cobra.Command) *cobra.Command {
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
func (c *common) Complete(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usagef("%s takes no arguments, %q was given", cmd.CommandPath(), args[0])
	}
	return nil
}

// Validate implements Options for a command of which any flags can be meant.
func (c *common) Validate() error { return nil }

// paint decides about colour: the flag first, then https://no-color.org, then
// whether anybody looks.
func (c *common) paint() painter {
	switch c.color.value {
	case "always":
		return painter{on: true}
	case "never":
		return painter{}
	}
	return painter{on: c.getenv("NO_COLOR") == "" && c.terminal()}
}

// oneArg is the argument of a command that takes exactly one. A name may be written
// with its kind, as kubectl prints it.
func oneArg(cmd *cobra.Command, args []string, what string) (string, error) {
	if len(args) != 1 {
		return "", usagef("%s takes one %s, %d were given", cmd.CommandPath(), what, len(args))
	}
	name := args[0]
	if kind, rest, found := strings.Cut(name, "/"); found {
		switch strings.ToLower(kind) {
		case "statefulset", "statefulsets", "sts", "statefulset.apps", "migration", "migrations", "mig", "migration.migration.sliceshift.io":
			name = rest
		default:
			return "", usagef("%q is not a %s", args[0], what)
		}
	}
	if name == "" {
		return "", usagef("the %s has no name", what)
	}
	return name, nil
}

// dryRun is the flag --dry-run of a command that writes an object.
type dryRun struct{ *choice }

// addDryRun adds the flag; what says what a dry run does that asks no cluster.
func addDryRun(flags *pflag.FlagSet, what string) dryRun {
	d := dryRun{newChoice("none", "none", "client", "server")}
	flags.Var(d, "dry-run", "client: "+what+"; server: let the API server judge it, without keeping it")
	flags.Lookup("dry-run").NoOptDefVal = "client"
	return d
}

// client says whether nothing is sent to a cluster.
func (d dryRun) client() bool { return d.value == "client" }

// ofRequest is what a write to the API server says of it.
func (d dryRun) ofRequest() []string {
	if d.value == "server" {
		return []string{metav1.DryRunAll}
	}
	return nil
}

// suffix follows what is said to be done.
func (d dryRun) suffix() string {
	return map[string]string{"client": " (dry run)", "server": " (server dry run)"}[d.value]
}

// result is how a command says what it has done: in kubectl's words, or by printing the object.
type result struct{ format *genericclioptions.PrintFlags }

// addResult adds the flag --output to a command.
func addResult(cmd *cobra.Command) result {
	format := genericclioptions.NewPrintFlags("").WithTypeSetter(clusters.NewScheme())
	format.TemplatePrinterFlags = nil
	cmd.Flags().StringVarP(format.OutputFormat, "output", "o", "", "format of the output: yaml, json or name")
	return result{format}
}

// name is the format that was asked for; empty for kubectl's words.
func (r result) name() string { return *r.format.OutputFormat }

// validate refuses a format that there is not.
func (r result) validate() error {
	if _, err := r.format.ToPrinter(); err != nil {
		return usageError(err)
	}
	return nil
}

// printResult writes "statefulset.apps.sliceshift.io/web <done>", or the object.
func (c *common) printResult(r result, object runtime.Object, done string) error {
	r.format.NamePrintFlags.Operation = done
	printer, err := r.format.ToPrinter()
	if err != nil {
		return usageError(err)
	}
	return printer.PrintObj(object, c.Out)
}
