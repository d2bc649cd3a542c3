// Package slice provides the commands for StatefulSets of apps.sliceshift.io: their rollouts, and the conversion between
// the kinds of StatefulSet.
package slice

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/retry"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	slicesapi "github.com/sliceshift/sliceshift/api/apps/v1alpha1"
	"github.com/sliceshift/sliceshift/cmd/migrate/command"
	"github.com/sliceshift/sliceshift/internal/clusters"
	"github.com/sliceshift/sliceshift/migration/plan"
)

// Commands returns the commands for one StatefulSet of apps.sliceshift.io.
func Commands(c *command.Common) []*cobra.Command {
	return command.In(command.Storage, newRollout(c), newSet(c), newLogs(c), newExpose(c), newAdopt(c))
}

// named holds the options of a command for one StatefulSet.
type named struct {
	*command.Common
	name string
}

// Complete reads the name: NAME, TYPE/NAME or TYPE NAME.
func (o *named) Complete(cmd *cobra.Command, args []string) error {
	names, err := namesIn(cmd, args)
	if err != nil {
		return err
	}
	o.name, err = command.Argument(cmd, names, "StatefulSet")
	return err
}

// statefulSet is a StatefulSet of our kind that was found.
type statefulSet struct {
	*slicesapi.StatefulSet
	connection *clusters.Connection
}

// find reads the StatefulSet, which must be of our kind.
func (o *named) find(ctx context.Context) (*statefulSet, error) {
	connection, namespace, err := connect(ctx, o.Common)
	if err != nil {
		return nil, err
	}
	set, key := &slicesapi.StatefulSet{}, client.ObjectKey{Namespace: namespace, Name: o.name}
	err = connection.Live().Get(ctx, key, set)
	switch {
	case apierrors.IsNotFound(err):
		return nil, o.notFound(ctx, connection, key)
	case err != nil:
		return nil, command.Unreachable(connection.Name(), err)
	}
	return &statefulSet{set, connection}, nil
}

// connect connects to the cluster of the flags, which must serve our kind, and returns the selected namespace.
func connect(ctx context.Context, c *command.Common) (connection *clusters.Connection, namespace string, err error) {
	if connection, namespace, err = c.ConnectTo(); err != nil {
		return nil, "", err
	}
	known, err := connection.Serves(ctx, &slicesapi.StatefulSet{})
	switch {
	case err != nil:
		return nil, "", command.Unreachable(connection.Name(), err)
	case !known:
		return nil, "", fmt.Errorf("cluster %s does not serve %s StatefulSets: install their resource definition and the manager there first: %s",
			connection.Name(), slicesapi.GroupVersion, plan.Kubectl(connection.Name(), connection.Flags()).Do("apply", "-k", "config"))
	}
	return connection, namespace, nil
}

// notFound returns the error if there is none, and a remedy if there is one of apps/v1.
func (o *named) notFound(ctx context.Context, connection *clusters.Connection, key client.ObjectKey) error {
	missing := fmt.Errorf("no %s StatefulSet %s in cluster %s", slicesapi.GroupVersion, key, connection.Name())
	if err := connection.Live().Get(ctx, key, &appsv1.StatefulSet{}); err == nil {
		return fmt.Errorf("%w, but one of apps/v1: use kubectl rollout for it, or %q first", missing, o.Again("adopt", key.Name, key.Namespace))
	}
	if meant := command.DidYouMean(key.Name, command.NamesIn(ctx, connection.Live(), slicesapi.GroupVersion.WithKind("StatefulSet"), key.Namespace)); meant != "" {
		return fmt.Errorf("%w%s", missing, meant)
	}
	return fmt.Errorf("%w; look for it: %s", missing, plan.Kubectl(connection.Name(), connection.Flags()).Do("get", "statefulsets."+slicesapi.GroupVersion.Group, "-A"))
}

// warnMoving prints a warning if the template of a set is changed during a move, because the other side has its own
// template. The pods of the two sides still share one budget.
func (s *statefulSet) warnMoving(c *command.Common) {
	if s.Annotations[slicesapi.MigratingAnnotationKey] == "" {
		return
	}
	fmt.Fprintf(c.ErrOut, "A migration drives %s: an ordinal that it hands over starts with the template of the other side's StatefulSet. Make the same change there, or look how far it is: %s\n",
		s.title(), c.Again("status", s.Name, s.Namespace))
}

// warnPaused prints a warning if the template of a set is changed whose updates are paused.
func (s *statefulSet) warnPaused(c *command.Common) {
	if updatesPaused(s.StatefulSet) {
		fmt.Fprintf(c.ErrOut, "%s is paused: its pods follow after: %s\n", s.title(), c.Again("rollout resume", s.Name, s.Namespace))
	}
}

// title returns the name of the set, for messages.
func (s *statefulSet) title() string { return "StatefulSet " + s.Namespace + "/" + s.Name }

// refresh reads the set again.
func (s *statefulSet) refresh(ctx context.Context) (*slicesapi.StatefulSet, error) {
	fresh := &slicesapi.StatefulSet{}
	return fresh, s.connection.Live().Get(ctx, client.ObjectKeyFromObject(s.StatefulSet), fresh)
}

// patchLatest applies a JSON patch to the set as it is now: change is called again after each conflict. It reports
// whether there was a change.
func (s *statefulSet) patchLatest(ctx context.Context, change func(*slicesapi.StatefulSet) ([]map[string]any, error), opts ...client.PatchOption) (changed bool, err error) {
	var refused error
	err = retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		if refused != nil {
			fresh, err := s.refresh(ctx)
			if err != nil {
				return fmt.Errorf("cluster %s: reading %s: %w", s.connection.Name(), s.title(), err)
			}
			s.StatefulSet = fresh
		}
		body, err := change(s.StatefulSet)
		if changed = len(body) > 0; err != nil || !changed {
			return err
		}
		same := map[string]any{"op": "replace", "path": "/metadata/resourceVersion", "value": s.ResourceVersion}
		refused = s.write(ctx, types.JSONPatchType, append([]map[string]any{same}, body...), opts...)
		return refused
	})
	if refused != nil && errors.Is(err, refused) {
		err = s.explain(err)
	}
	return changed, err
}

// patch patches the set.
func (s *statefulSet) patch(ctx context.Context, kind types.PatchType, body any, opts ...client.PatchOption) error {
	return s.explain(s.write(ctx, kind, body, opts...))
}

// write sends a patch, and returns the error of the API server.
func (s *statefulSet) write(ctx context.Context, kind types.PatchType, body any, opts ...client.PatchOption) error {
	data, err := json.Marshal(body)
	if err != nil {
		return err
	}
	return s.connection.Live().Patch(ctx, s.StatefulSet, client.RawPatch(kind, data), opts...)
}

// explain names the set in the API server's error of a write.
func (s *statefulSet) explain(err error) error {
	switch {
	case apierrors.IsConflict(err):
		return fmt.Errorf("cluster %s: %s was changed meanwhile: look at it, and repeat the command", s.connection.Name(), s.title())
	case err != nil:
		return fmt.Errorf("cluster %s: writing %s: %w", s.connection.Name(), s.title(), err)
	}
	return nil
}

// follow calls look with the current set and after each change, until look returns true or an error, or ctx ends.
func (s *statefulSet) follow(ctx context.Context, ticks clock.WithTicker, look func(*slicesapi.StatefulSet) (bool, error)) error {
	return command.Watched[*slicesapi.StatefulSet]{
		Title: s.title(), Cluster: s.connection.Name(), Now: s.StatefulSet, Refresh: s.refresh,
		Changes: func(ctx context.Context) (<-chan *slicesapi.StatefulSet, func(), error) {
			object := &slicesapi.StatefulSet{ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: s.Name}}
			return clusters.Follow(ctx, s.connection, object, func(object any) (*slicesapi.StatefulSet, bool) {
				set, ok := object.(*slicesapi.StatefulSet)
				return set.DeepCopy(), ok
			})
		},
	}.Follow(ctx, ticks, func(set *slicesapi.StatefulSet) (bool, error) {
		if set.UID != s.UID {
			return false, fmt.Errorf("%s was deleted from cluster %s, and recreated", s.title(), s.connection.Name())
		}
		return look(set)
	})
}
