package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/cli-runtime/pkg/genericclioptions"
)

// common is what all verbs share: the process and the persistent flags.
type common struct {
	environment
	config *genericclioptions.ConfigFlags
	color  *choice
}

// execute runs one command line and returns the exit code.
func execute(ctx context.Context, env environment) int {
	root := newRoot(env)
	root.SetArgs(append([]string{}, env.args...)) // nil would be those of the process
	cmd, err := root.ExecuteContextC(ctx)
	err = ended(ctx, err)
	code := exitCode(err)
	if err != nil && !isSilent(err) {
		fmt.Fprintf(env.ErrOut, "error: %v\n", err)
	}
	if isUsage(err) {
		fmt.Fprintf(env.ErrOut, "see: %s --help\n", cmd.CommandPath())
	}
	return code
}

const rootHelp = `Moves a running StatefulSet to another Kubernetes cluster or namespace, one
ordinal at a time, while the application keeps running.

Each replica is stopped at the source, its volumes are carried over, and it is
started at the destination, never more of them at once than the disruption budget
allows. A move can be interrupted and continued, paused, and rolled back.

Exit codes: 0 done, 1 error, 2 usage, 3 stalled or refused, 4 timeout.`

const rootExamples = `  # What would be done, and what stands in the way
  migrate plan web -n shop --context east --to-context west

  # Do it from here; nothing needs to be installed in either cluster
  migrate run web -n shop --context east --to-context west

  # Watch, pause, go on, take everything back: from another terminal
  migrate status web -n shop --context east -w
  migrate pause web -n shop --context east
  migrate resume web -n shop --context east
  migrate rollback web -n shop --context east --wait

  # The destination is lost for good: what is known of each disk, and the way back
  migrate recover web -n shop --context east --dry-run`

func newRoot(env environment) *cobra.Command {
	c := &common{environment: env, config: genericclioptions.NewConfigFlags(false), color: newChoice("auto", "auto", "always", "never")}
	root := &cobra.Command{
		Use:           "migrate",
		Annotations:   map[string]string{cobra.CommandDisplayNameAnnotation: env.program},
		Short:         "Move a running StatefulSet to another cluster or namespace",
		Long:          rootHelp,
		Example:       env.example(rootExamples),
		SilenceErrors: true,
		SilenceUsage:  true,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return nil
			}
			return unknownVerb(cmd, args[0])
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetIn(env.In)
	root.SetOut(env.Out)
	root.SetErr(env.ErrOut)
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usageError(err) })
	root.CompletionOptions.HiddenDefaultCmd = true
	addConfigFlags(root.PersistentFlags(), c.config)
	root.PersistentFlags().Var(c.color, "color", "colour the output; also off when NO_COLOR is set")
	root.AddCommand(
		newPlan(c), newCreate(c), newRun(c), newStatus(c),
		newPause(c), newResume(c), newRollback(c), newRecover(c), newBudget(c), newRollout(c), newAdopt(c),
		newInstall(c), newUninstall(c), newVersion(c),
	)
	return root
}

// example puts the command's name into examples.
func (e environment) example(text string) string {
	return strings.ReplaceAll(text, "  migrate ", "  "+e.program+" ")
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

// oneArg is the argument of a verb that takes exactly one. A name may be written
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
