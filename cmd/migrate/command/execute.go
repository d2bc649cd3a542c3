package command

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/cli-runtime/pkg/genericclioptions"
)

// Group makes the commands of one kind.
type Group func(*Common) []*cobra.Command

// Execute runs the command line of a process, and returns its exit code. root says what the
// program is; the groups are what it can do.
func Execute(ctx context.Context, env Environment, root *cobra.Command, groups ...Group) int {
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
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usageError(err) })
	root.SetArgs(append([]string{}, env.Args...)) // nil would be those of the process
	addConfigFlags(root.PersistentFlags(), c.Config)
	root.PersistentFlags().Var(c.color, "color", "colour the output; also off when NO_COLOR is set")
	for _, commands := range groups {
		root.AddCommand(commands(c)...)
	}
	addCompletion(root, c)
}

func unknownVerb(cmd *cobra.Command, verb string) error {
	err := fmt.Errorf("unknown verb %q", verb)
	if near := cmd.SuggestionsFor(verb); len(near) > 0 {
		err = fmt.Errorf("%w; did you mean %s?", err, strings.Join(near, " or "))
	}
	return usageError(err)
}

// shownConfigFlags are the connection flags that the help lists. The others of
// kubectl work too.
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
