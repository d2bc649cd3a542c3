package command

import (
	"context"
	_ "embed"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	slicesapi "github.com/sliceshift/sliceshift/api/apps/v1alpha1"
	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
)

// plugin is the script that kubectl calls to complete the arguments of a plugin.
//
//go:embed kubectl_complete-migrate
var plugin string

const pluginHelp = `Prints the script by which kubectl completes the arguments of "kubectl migrate". Put
it in the path as kubectl_complete-migrate and make it executable. kubectl calls it where
its own completion is set up: kubectl completion --help.`

const pluginExamples = `  migrate completion kubectl >/usr/local/bin/kubectl_complete-migrate
  chmod +x /usr/local/bin/kubectl_complete-migrate`

// completionTime is how long a completion may wait for the answer of a cluster.
const completionTime = 3 * time.Second

// addCompletion adds shell completion of commands, flag values, contexts, namespaces and names.
func addCompletion(root *cobra.Command, c *Common) {
	root.InitDefaultCompletionCmd()
	for _, cmd := range root.Commands() {
		if cmd.Name() == "completion" {
			cmd.Args = unknownShell
			cmd.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
			cmd.AddCommand(&cobra.Command{
				Use: "kubectl", Short: "Print the script for kubectl's own completion", Args: cobra.NoArgs,
				Long: pluginHelp, Example: c.example(pluginExamples),
				RunE: func(*cobra.Command, []string) error {
					_, err := c.Out.Write([]byte(plugin))
					return err
				},
			})
			c.nameInHelp(root, cmd)
			continue
		}
		c.completeBelow(cmd, slices.Contains(ofOurKind, cmd.Name()))
	}
	completeFlags(root, root.PersistentFlags(), map[string]cobra.CompletionFunc{"context": c.contexts, "namespace": c.namespaces})
}

// nameInHelp sets the program's name, as its user calls it, in the help of each shell's script. A shell completes the
// program by its file name, and kubectl uses a separate script.
func (c *Common) nameInHelp(root, completion *cobra.Command) {
	for _, shell := range completion.Commands() {
		shell.Long = strings.ReplaceAll(strings.TrimRight(shell.Long, "\n"), root.Name()+" completion", c.Program+" completion")
		if c.Program != root.Name() && shell.Name() != "kubectl" {
			shell.Long += fmt.Sprintf("\n\nIt completes a program that is called %q. For %q: %s kubectl", root.Name(), c.Program, c.Program+" completion")
		}
	}
}

// unknownShell rejects a shell without a completion script. Otherwise a user who sources the output would source the
// help.
func unknownShell(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	var shells []string
	for _, shell := range cmd.Commands() {
		if shell.IsAvailableCommand() {
			shells = append(shells, shell.Name())
		}
	}
	return Usagef("there is no completion for %q: it is one of %s", args[0], strings.Join(shells, ", "))
}

// ofOurKind lists the commands whose arguments are StatefulSets of our own kind only.
var ofOurKind = []string{"rollout", "set", "logs", "expose"}

// completeBelow adds completion of arguments and flags to a command and its subcommands. ours is true if they accept
// only StatefulSets of our own kind.
func (c *Common) completeBelow(cmd *cobra.Command, ours bool) {
	_, argument, _ := strings.Cut(cmd.Use, " ")
	argument = strings.Trim(argument, "[]")
	if ours {
		argument, _, _ = strings.Cut(strings.TrimLeft(argument, "("), " ")
		argument = strings.TrimRight(argument, ".)")
	}
	switch {
	case cmd.ValidArgsFunction != nil:
	case strings.Contains(argument, "STATEFULSET"):
		cmd.ValidArgsFunction = c.names(statefulSets, ourSets)
	case argument == "NAME" && ours:
		cmd.ValidArgsFunction = c.names(ourSets)
	case argument == "NAME":
		cmd.ValidArgsFunction = c.names(migrations, statefulSets, ourSets)
	case !strings.Contains(argument, "FILE"):
		cmd.ValidArgsFunction = cobra.NoFileCompletions
	}
	completeFlags(cmd, cmd.Flags(), map[string]cobra.CompletionFunc{"to-context": c.contexts})
	for _, below := range cmd.Commands() {
		c.completeBelow(below, ours)
	}
}

// completeFlags completes the flags in known, and every Choice.
func completeFlags(cmd *cobra.Command, flags *pflag.FlagSet, known map[string]cobra.CompletionFunc) {
	flags.VisitAll(func(flag *pflag.Flag) {
		complete := known[flag.Name]
		if choice, is := flag.Value.(*Choice); is {
			complete = cobra.FixedCompletions(choice.allowed, cobra.ShellCompDirectiveNoFileComp)
		}
		if complete != nil {
			_ = cmd.RegisterFlagCompletionFunc(flag.Name, complete) // fails if the flag already has a completion
		}
	})
}

// contexts returns the contexts of the kubeconfig.
func (c *Common) contexts(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	config, err := c.Config.ToRawKubeConfigLoader().RawConfig()
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	return slices.Sorted(maps.Keys(config.Contexts)), cobra.ShellCompDirectiveNoFileComp
}

// namespaces returns the namespaces of the source cluster.
func (c *Common) namespaces(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
	return c.list(cmd.Context(), "", schema.GroupVersionKind{Version: "v1", Kind: "Namespace"})
}

// The kinds whose names are completed.
var (
	statefulSets = schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "StatefulSet"}
	ourSets      = slicesapi.GroupVersion.WithKind("StatefulSet")
	migrations   = api.GroupVersion.WithKind("Migration")
)

// names completes the first argument with the objects of these kinds in the namespace.
func (c *Common) names(kinds ...schema.GroupVersionKind) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		namespace, err := c.Namespace()
		if len(args) > 0 || err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return c.list(cmd.Context(), namespace, kinds...)
	}
}

// list returns the names of the objects of these kinds. It skips kinds that the cluster does not serve or that the user
// may not list.
func (c *Common) list(ctx context.Context, namespace string, kinds ...schema.GroupVersionKind) ([]string, cobra.ShellCompDirective) {
	connection, err := c.Connect()
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	ctx, cancel := context.WithTimeout(ctx, completionTime)
	defer cancel()
	var found []string
	for _, kind := range kinds {
		found = append(found, NamesIn(ctx, connection.Live(), kind, namespace)...) // the command itself reports an error
	}
	slices.Sort(found)
	return slices.Compact(found), cobra.ShellCompDirectiveNoFileComp
}

// Near returns the names that are similar to a mistyped one.
func Near(name string, names []string) []string {
	known := &cobra.Command{SuggestionsMinimumDistance: mostMistyped}
	for _, each := range names {
		known.AddCommand(&cobra.Command{Use: each, Run: func(*cobra.Command, []string) {}})
	}
	return known.SuggestionsFor(name)
}

// NamesIn returns the names of the objects of a kind in a namespace, or none if they cannot be listed.
func NamesIn(ctx context.Context, c client.Reader, kind schema.GroupVersionKind, namespace string) (names []string) {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
	if err := c.List(ctx, list, client.InNamespace(namespace)); err != nil {
		return nil
	}
	for i := range list.Items {
		names = append(names, list.Items[i].GetName())
	}
	return names
}

// DidYouMean returns a suggestion such as "; did you mean web?", or an empty string if no name is similar.
func DidYouMean(name string, names []string) string {
	near := Near(name, names)
	if len(near) == 0 {
		return ""
	}
	return "; did you mean " + strings.Join(near, " or ") + "?"
}
