package slice

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"

	slicesapi "github.com/sliceshift/sliceshift/api/apps/v1alpha1"
	"github.com/sliceshift/sliceshift/cmd/migrate/command"
)

// Field managers of the commands, with the names that kubectl gives its own. The fields that a user changes by hand then
// belong to the user, and not to a controller.
const (
	rolloutManager = "kubectl-rollout"
	setManager     = "kubectl-set"
	exposeManager  = "kubectl-expose"
)

// addManager adds the flag --field-manager.
func addManager(flags *pflag.FlagSet, manager *string, standard string) {
	flags.StringVar(manager, "field-manager", standard, "name of the owner of the fields that are written")
}

// ofOurKind reports whether a word is the type of a StatefulSet of our kind, as kubectl accepts types: singular, plural or
// short, with or without the group.
func ofOurKind(word string) bool {
	kind, group, found := strings.Cut(strings.ToLower(word), ".")
	if found && group != slicesapi.GroupVersion.Group && group != slicesapi.GroupVersion.Version+"."+slicesapi.GroupVersion.Group {
		return false
	}
	return slices.Contains([]string{"statefulset", "statefulsets", "sts", "slice", "slices"}, kind)
}

// namesIn returns the names of StatefulSets in arguments, which have one of the forms of kubectl: TYPE/NAME..., TYPE NAME...
// or, because there is only one type, NAME...
func namesIn(cmd *cobra.Command, args []string) ([]string, error) {
	if len(args) > 1 && ofOurKind(args[0]) {
		args = args[1:]
	}
	names := make([]string, 0, len(args))
	for _, arg := range args {
		if kind, rest, found := strings.Cut(arg, "/"); found && ofOurKind(kind) {
			arg = rest
		}
		name, err := command.Argument(cmd, []string{arg}, "StatefulSet")
		if err != nil {
			return nil, err
		}
		names = append(names, name)
	}
	return names, nil
}

// targets are the StatefulSets of a command: some by name, all with some labels, or all of the namespace.
type targets struct {
	*command.Common
	names    []string
	selector string
	all      bool
}

// addSelector adds the flag --selector.
func (o *targets) addSelector(flags *pflag.FlagSet) {
	flags.StringVarP(&o.selector, "selector", "l", "", "every StatefulSet with these labels, such as app=web, instead of names")
}

// Complete reads the names. With --selector or --all there are none, but the type may be given, as kubectl requires it.
func (o *targets) Complete(cmd *cobra.Command, args []string) (err error) {
	if o.selector == "" && !o.all {
		if o.names, err = namesIn(cmd, args); err == nil && len(o.names) == 0 {
			err = command.Usagef("%s takes a StatefulSet, or --selector", cmd.CommandPath())
		}
		return err
	}
	if len(args) > 1 || len(args) == 1 && !ofOurKind(args[0]) {
		return command.Usagef("names exclude --selector and --all")
	}
	if _, err := labels.Parse(o.selector); err != nil {
		return command.Usagef("--selector: %v", err)
	}
	return nil
}

// each calls do for every target. One that fails does not stop the others. It returns the errors of all.
func (o *targets) each(ctx context.Context, do func(*statefulSet) error) error {
	found, err := o.find(ctx)
	errs := []error{err}
	for _, s := range found {
		errs = append(errs, do(s))
	}
	return errors.Join(errs...)
}

// find reads the targets. With an error it returns those that were found.
func (o *targets) find(ctx context.Context) (found []*statefulSet, err error) {
	if o.selector != "" || o.all {
		return o.list(ctx)
	}
	var errs []error
	for _, name := range o.names {
		s, err := (&named{o.Common, name}).find(ctx)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		found = append(found, s)
	}
	return found, errors.Join(errs...)
}

// list reads all StatefulSets with the labels.
func (o *targets) list(ctx context.Context) (found []*statefulSet, err error) {
	connection, namespace, err := connect(ctx, o.Common)
	if err != nil {
		return nil, err
	}
	selector, err := labels.Parse(o.selector)
	if err != nil {
		return nil, err
	}
	var all slicesapi.StatefulSetList
	if err := connection.Live().List(ctx, &all, client.InNamespace(namespace), client.MatchingLabelsSelector{Selector: selector}); err != nil {
		return nil, command.Unreachable(connection.Name(), err)
	}
	if len(all.Items) == 0 {
		fmt.Fprintf(o.ErrOut, "No resources found in %s namespace.\n", namespace)
	}
	for i := range all.Items {
		found = append(found, &statefulSet{&all.Items[i], connection})
	}
	return found, nil
}
