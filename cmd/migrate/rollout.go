package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sliceshift/sliceshift/internal/clusters"
	slicesapi "github.com/sliceshift/sliceshift/slices/v1alpha1"
)

const rolloutHelp = `Manages the roll-outs of a StatefulSet of apps.sliceshift.io, in the words of
"kubectl rollout". One of apps/v1 is kubectl's; "migrate adopt" makes the one kind of
the other.`

const rolloutExamples = `  # Wait for the end of a roll-out, and see why a pod is left alone
  migrate rollout status web -n shop

  # Which revisions there are, and back to the one before
  migrate rollout history web -n shop
  migrate rollout undo web -n shop

  # Stop a roll-out where it is, go on, restart every pod
  migrate rollout pause web -n shop
  migrate rollout resume web -n shop
  migrate rollout restart web -n shop`

func newRollout(c *common) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "rollout",
		Short:   "Manage the roll-outs of a StatefulSet of apps.sliceshift.io",
		Long:    rolloutHelp,
		Example: c.example(rolloutExamples),
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return nil
			}
			return unknownVerb(cmd, args[0])
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },

		SuggestionsMinimumDistance: 2,
	}
	cmd.AddCommand(
		newRolloutStatus(c), newRolloutHistory(c), newRolloutUndo(c),
		newRolloutPause(c), newRolloutResume(c), newRolloutRestart(c),
	)
	return cmd
}

// sliceArg is the one argument of a verb for slices: a name, or what kubectl prints.
func sliceArg(cmd *cobra.Command, args []string) (string, error) {
	if len(args) == 1 {
		kind, name, found := strings.Cut(args[0], "/")
		kind = strings.TrimSuffix(strings.ToLower(kind), "."+slicesapi.GroupVersion.Group)
		if found && (kind == "slice" || kind == "statefulset" || kind == "statefulsets") {
			args = []string{name}
		}
	}
	return oneArg(cmd, args, "StatefulSet")
}

// slice is a StatefulSet of ours that was found.
type slice struct {
	*slicesapi.StatefulSet
	connection *clusters.Connection
}

// findSlice reads a StatefulSet of ours.
func (c *common) findSlice(ctx context.Context, name string) (*slice, error) {
	namespace, err := c.namespace()
	if err != nil {
		return nil, err
	}
	where, err := c.source()
	if err != nil {
		return nil, err
	}
	connection, err := where.connect(nil)
	if err != nil {
		return nil, err
	}
	if err := served(ctx, connection); err != nil {
		return nil, err
	}
	set := &slicesapi.StatefulSet{}
	err = connection.Live().Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, set)
	switch {
	case apierrors.IsNotFound(err):
		return nil, c.noSlice(ctx, connection, client.ObjectKey{Namespace: namespace, Name: name})
	case err != nil:
		return nil, unreachable(where.name, err)
	}
	return &slice{set, connection}, nil
}

// served fails where a cluster does not know our kind.
func served(ctx context.Context, connection *clusters.Connection) error {
	known, err := connection.Serves(ctx, &slicesapi.StatefulSet{})
	switch {
	case err != nil:
		return unreachable(connection.Name(), err)
	case !known:
		return fmt.Errorf("cluster %s does not serve %s StatefulSets: install their resource definition and the manager there first: kubectl apply -k config",
			connection.Name(), slicesapi.GroupVersion)
	}
	return nil
}

// noSlice says that there is none, and where to look when there is one of apps/v1.
func (c *common) noSlice(ctx context.Context, connection *clusters.Connection, key client.ObjectKey) error {
	missing := fmt.Errorf("no %s StatefulSet %s in cluster %s", slicesapi.GroupVersion, key, connection.Name())
	if err := connection.Live().Get(ctx, key, &appsv1.StatefulSet{}); err == nil {
		return fmt.Errorf("%w, but one of apps/v1: use kubectl rollout for it, or %q first", missing, fmt.Sprintf("%s adopt %s -n %s", c.program, key.Name, key.Namespace))
	}
	return fmt.Errorf("%w; look for it: kubectl get statefulsets.%s -A", missing, slicesapi.GroupVersion.Group)
}

// warnMoving tells whoever changes the template of a set that is being moved what
// becomes of the change. Pods of both sides stay within one budget all the same.
func (c *common) warnMoving(s *slice) {
	if s.Annotations[slicesapi.MigratingAnnotationKey] == "" {
		return
	}
	fmt.Fprintf(c.ErrOut, "A migration drives %s: an ordinal that it hands over starts with the template of the other side's StatefulSet. Make the same change there, or look how far it is: %s status %s -n %s\n",
		s.title(), c.program, s.Name, s.Namespace)
}

// title names the set, for people.
func (s *slice) title() string { return "StatefulSet " + s.Namespace + "/" + s.Name }

// refresh reads the set again.
func (s *slice) refresh(ctx context.Context) (*slicesapi.StatefulSet, error) {
	fresh := &slicesapi.StatefulSet{}
	return fresh, s.connection.Live().Get(ctx, client.ObjectKeyFromObject(s.StatefulSet), fresh)
}

// patch writes the set.
func (s *slice) patch(ctx context.Context, kind types.PatchType, body any, opts ...client.PatchOption) error {
	data, err := json.Marshal(body)
	if err != nil {
		return err
	}
	err = s.connection.Live().Patch(ctx, s.StatefulSet, client.RawPatch(kind, data), opts...)
	switch {
	case apierrors.IsConflict(err):
		return fmt.Errorf("cluster %s: %s was changed meanwhile: look at it, and repeat the command", s.connection.Name(), s.title())
	case err != nil:
		return fmt.Errorf("cluster %s: writing %s: %w", s.connection.Name(), s.title(), err)
	}
	return nil
}

// resultFlags are the formats in which kubectl tells what was done.
func resultFlags(cmd *cobra.Command) *genericclioptions.PrintFlags {
	format := genericclioptions.NewPrintFlags("").WithTypeSetter(clusters.NewScheme())
	format.TemplatePrinterFlags = nil
	cmd.Flags().StringVarP(format.OutputFormat, "output", "o", "", "format of the output: yaml, json or name")
	return format
}

// printResult writes "statefulset.apps.sliceshift.io/web <done>", or the object.
func (c *common) printResult(format *genericclioptions.PrintFlags, object client.Object, done string) error {
	format.NamePrintFlags.Operation = done
	printer, err := format.ToPrinter()
	if err != nil {
		return usageError(err)
	}
	return printer.PrintObj(object, c.Out)
}
