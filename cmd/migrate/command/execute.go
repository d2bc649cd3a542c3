package command

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/cli-runtime/pkg/genericclioptions"

	"github.com/sliceshift/sliceshift/internal/printable"
)

// Group returns the commands of one group.
type Group func(*Common) []*cobra.Command

// Execute runs the command line of a process and returns its exit code. All output passes through package printable.
// root describes the program, and the groups are its commands.
func Execute(ctx context.Context, env Environment, root *cobra.Command, groups ...Group) int {
	env.Out, env.ErrOut = printable.NewWriter(env.Out), printable.NewWriter(env.ErrOut)
	prepare(env, root, groups)
	cmd, err := root.ExecuteContextC(ctx)
	err = Ended(ctx, err)
	code := ExitCode(err)
	if err != nil && !isSilent(err) {
		fmt.Fprintf(env.ErrOut, "error: %v\n", err)
	}
	if isUsage(err) {
		fmt.Fprintf(env.ErrOut, "see: %s --help\n", cmd.CommandPath())
	}
	return code
}

func prepare(env Environment, root *cobra.Command, groups []Group) {
	c := NewCommon(env)
	c.ParentCommand(root)
	root.Annotations = map[string]string{cobra.CommandDisplayNameAnnotation: env.Program}
	root.SilenceErrors, root.SilenceUsage = true, true
	root.SetIn(env.In)
	root.SetOut(env.Out)
	root.SetErr(env.ErrOut)
	root.SuggestionsMinimumDistance = mostMistyped
	root.SetFlagErrorFunc(wrongFlag)
	root.SetArgs(append([]string{}, env.Args...)) // nil would mean the arguments of the process
	addConfigFlags(root.PersistentFlags(), c.Config)
	root.PersistentFlags().Var(c.color, "color", "colour the output; also off when NO_COLOR is set")
	root.AddGroup(groupTitles...)
	root.SetHelpCommandGroupID(Installing)
	root.SetCompletionCommandGroupID(Installing)
	root.SetUsageFunc(usage)
	for _, commands := range groups {
		root.AddCommand(commands(c)...)
	}
	addCompletion(root, c)
}

// mostMistyped is the maximal edit distance between a mistyped word and a suggestion.
const mostMistyped = 2

// wrongFlag explains an error in a flag and suggests similar flags.
func wrongFlag(cmd *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	var invalid *pflag.InvalidValueError
	var explained *ExitError
	switch {
	case errors.As(err, &explained):
		return explained // its value has said what is wrong
	case errors.As(err, &unknown):
		return unknownFlag(cmd, unknown)
	case errors.As(err, &invalid) && invalid.GetFlag().Value.Type() == "duration":
		return noDuration(invalid)
	case errors.As(err, &invalid):
		return wrongValue(invalid)
	}
	return usageError(err)
}

// wrongValue explains which values a flag accepts, in the words of its help.
func wrongValue(invalid *pflag.InvalidValueError) error {
	flag := invalid.GetFlag()
	form := ""
	switch flag.Value.Type() {
	case "int", "int32":
		form = "a whole number"
	case "stringToString":
		form, _ = pflag.UnquoteUsage(flag)
	case "bool":
		form = "true or false"
	}
	if form == "" {
		return usageError(invalid)
	}
	return Usagef("--%s must be %s, not %q", flag.Name, form, invalid.GetValue())
}

// noDuration explains the format of a duration. In the fields of a Migration and in kubectl, a number without a unit is
// valid.
func noDuration(invalid *pflag.InvalidValueError) error {
	flag, value := invalid.GetFlag().Name, invalid.GetValue()
	if _, err := strconv.ParseFloat(value, 64); err == nil {
		return Usagef("--%s %s has no unit: %ss is seconds, %sm minutes, %sh hours", flag, value, value, value, value)
	}
	return Usagef("--%s must be a duration such as 30s, 10m or 1h30m, not %q", flag, value)
}

// unknownFlag reports an unknown flag and suggests similar ones.
func unknownFlag(cmd *cobra.Command, unknown *pflag.NotExistError) error {
	var err error = unknown
	var known []string
	cmd.Flags().VisitAll(func(flag *pflag.Flag) {
		if !flag.Hidden {
			known = append(known, flag.Name)
		}
	})
	if near := Near(unknown.GetSpecifiedName(), known); len(near) > 0 {
		err = fmt.Errorf("%w; did you mean --%s?", err, strings.Join(near, " or --"))
	}
	return usageError(err)
}

func unknownVerb(cmd *cobra.Command, verb string) error {
	err := fmt.Errorf("unknown verb %q", verb)
	if near := cmd.SuggestionsFor(verb); len(near) > 0 {
		err = fmt.Errorf("%w; did you mean %s?", err, strings.Join(near, " or "))
	}
	return usageError(err)
}

// shownConfigFlags lists the connection flags that the help shows. The other flags of kubectl work too.
var shownConfigFlags = map[string]string{
	"kubeconfig":      "kubeconfig file of the source's cluster",
	"context":         "context of the source's cluster",
	"namespace":       "namespace of the source",
	"request-timeout": "how long one request may take (default 15s)",
}

func addConfigFlags(flags *pflag.FlagSet, config *genericclioptions.ConfigFlags) {
	own := pflag.NewFlagSet("", pflag.ContinueOnError)
	config.CacheDir = nil // nothing is cached on disk
	config.AddFlags(own)
	own.VisitAll(func(flag *pflag.Flag) {
		usage, shown := shownConfigFlags[flag.Name]
		flag.Hidden = !shown
		if shown {
			flag.Usage, flag.DefValue = usage, ""
		}
		flags.AddFlag(flag)
	})
}
