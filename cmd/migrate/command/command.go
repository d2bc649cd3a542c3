// Package command holds the parts that all commands share: the process environment, the clusters that their flags
// select, the steps of their options, and their exit codes.
package command

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/cli-runtime/pkg/genericclioptions"

	"github.com/sliceshift/sliceshift/cmd/migrate/terminal"
	"github.com/sliceshift/sliceshift/internal/clusters"
)

// Options are the options of one command. The three steps are those of kubectl.
type Options interface {
	// Complete reads the arguments and sets defaults, without a request to any cluster.
	Complete(cmd *cobra.Command, args []string) error
	// Validate rejects invalid combinations of options.
	Validate() error
	// Run runs the command.
	Run(ctx context.Context) error
}

// Common holds the parts that all commands share: the process and the persistent flags. Options that embed it inherit
// the first two steps, for commands without arguments and without invalid combinations of flags.
type Common struct {
	Environment
	// Config holds the flags of kubectl that select the source cluster.
	Config *genericclioptions.ConfigFlags
	color  *Choice
}

// NewCommon returns the Common of one process.
func NewCommon(env Environment) *Common {
	return &Common{Environment: env, Config: genericclioptions.NewConfigFlags(false), color: NewChoice("auto", "auto", "always", "never")}
}

// Command sets the steps of the options as the function of the command.
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

// ParentCommand prepares a command that only has subcommands.
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

// Validate implements Options for a command that accepts every combination of flags.
func (c *Common) Validate() error { return nil }

// Paint decides whether output is coloured. The flag has precedence, then https://no-color.org, then whether Out is a
// terminal.
func (c *Common) Paint() terminal.Painter {
	switch c.color.Value {
	case "always":
		return terminal.Painter{On: true}
	case "never":
		return terminal.Painter{}
	}
	return terminal.Painter{On: c.Getenv("NO_COLOR") == "" && c.Terminal()}
}

// Argument returns the argument of a command that takes exactly one. The name may have the prefix of its kind, as
// kubectl prints it.
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

// AddDryRun adds the flag. what describes a dry run that contacts no cluster.
func AddDryRun(flags *pflag.FlagSet, what string) DryRun {
	d := DryRun{NewChoice("none", "none", "client", "server")}
	flags.Var(d, "dry-run", "client: "+what+"; server: the API server validates it and stores nothing")
	flags.Lookup("dry-run").NoOptDefVal = "client"
	return d
}

// Client reports whether it is a client dry run, which sends nothing to a cluster.
func (d DryRun) Client() bool { return d.Value == "client" }

// OfRequest returns the dryRun parameter of a write to the API server.
func (d DryRun) OfRequest() []string {
	if d.Value == "server" {
		return []string{metav1.DryRunAll}
	}
	return nil
}

// Suffix returns the text that follows a reported result.
func (d DryRun) Suffix() string {
	return map[string]string{"client": " (dry run)", "server": " (server dry run)"}[d.Value]
}

// Result prints the result of a command: in kubectl's words, or as the object.
type Result struct{ format *genericclioptions.PrintFlags }

// AddResult adds the flag --output to a command.
func AddResult(cmd *cobra.Command) Result {
	format := genericclioptions.NewPrintFlags("").WithTypeSetter(clusters.NewScheme())
	format.TemplatePrinterFlags = nil
	cmd.Flags().StringVarP(format.OutputFormat, "output", "o", "", "format of the output: yaml, json or name")
	return Result{format}
}

// AddPrinter adds the flags with which kubectl formats objects: --output with templates and JSONPath, --template,
// --allow-missing-template-keys and --show-managed-fields.
func AddPrinter(cmd *cobra.Command) Result {
	format := genericclioptions.NewPrintFlags("").WithTypeSetter(clusters.NewScheme())
	format.AddFlags(cmd)
	flags := cmd.Flags()
	for name, usage := range map[string]string{
		"output":                      "format of the output: json, yaml, name, go-template, go-template-file, template, templatefile, jsonpath, jsonpath-as-json or jsonpath-file",
		"template":                    "template, or file of the template, for -o go-template and go-template-file",
		"allow-missing-template-keys": "a template prints nothing for a field that is missing",
		"show-managed-fields":         "keep managedFields in the output as JSON or YAML",
	} {
		flags.Lookup(name).Usage = usage
	}
	return Result{format}
}

// Format returns the requested format, or an empty string for kubectl's words.
func (r Result) Format() string { return *r.format.OutputFormat }

// Validate rejects an unknown format.
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

// Choice is a flag that accepts one of several words.
type Choice struct {
	// Value is the given word.
	Value   string
	allowed []string
	// store stores the value of the nth word in a field of the API; nil if there is none.
	store func(nth int)
}

// NewChoice returns a Choice with a default value.
func NewChoice(value string, allowed ...string) *Choice {
	return &Choice{Value: value, allowed: allowed}
}

// ChoiceOf returns a Choice that sets a field of the API to one of its values: see Word. The help shows the default; the
// field is not written until the flag is given.
func ChoiceOf[T ~string](field *T, standard T, values ...T) *Choice {
	c := NewChoice(Word(standard))
	for _, value := range values {
		c.allowed = append(c.allowed, Word(value))
	}
	c.store = func(nth int) { *field = values[nth] }
	return c
}

// between matches the border between two words in a value of the API.
var between = regexp.MustCompile(`([a-z])([A-Z])`)

// Word returns a value of the API as flags spell it: lowest-first for LowestFirst.
func Word[T ~string](value T) string {
	return strings.ToLower(between.ReplaceAllString(string(value), "$1-$2"))
}

// String implements pflag.Value.
func (c *Choice) String() string { return c.Value }

// Type implements pflag.Value. The help shows it.
func (c *Choice) Type() string { return strings.Join(c.allowed, "|") }

// Set implements pflag.Value.
func (c *Choice) Set(value string) error {
	value = strings.ToLower(value)
	nth := slices.Index(c.allowed, value)
	if nth < 0 {
		return fmt.Errorf("must be one of %s", strings.Join(c.allowed, ", "))
	}
	c.Value = value
	if c.store != nil {
		c.store(nth)
	}
	return nil
}

// AddOutput adds the flag --output to a command. The first format is the default.
func AddOutput(cmd *cobra.Command, formats ...string) *Choice {
	output := NewChoice(formats[0], formats...)
	cmd.Flags().VarP(output, "output", "o", "format of the output")
	return output
}
