// Package stage reads and writes the clusters of a rehearsal, and stores its record. Package rehearsal decides.
package stage

import (
	"context"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/internal/clusters"
	"github.com/sliceshift/sliceshift/migration/endpoint"
	"github.com/sliceshift/sliceshift/migration/health"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/migration/rehearsal"
	"github.com/sliceshift/sliceshift/migration/relay"
	"github.com/sliceshift/sliceshift/migration/world"
	"github.com/sliceshift/sliceshift/volumes"
)

// Names of the objects that each rehearsal has once in its namespace.
const (
	controlName = "rehearsal-control"
	proofName   = "rehearsal-proof"
	policyName  = "rehearsal"
)

// Config holds the settings of a rehearsal.
type Config struct {
	Source, Destination *clusters.Connection
	Clock               clock.PassiveClock
	// Spec is that of the move that is rehearsed.
	Spec api.MigrationSpec
	// Word states whether the application may be rehearsed; nil if nothing does.
	Word *rehearsal.Word
	// Image contains the mover, whose command reach tries the NetworkPolicy.
	Image string
	// Allow lists what the pods may reach, and Forbid addresses that they must not reach. If Forbid is empty, it is the
	// destination's API server.
	Allow  []rehearsal.Allowed
	Forbid []string
	// Copies is true if movers copy the running volumes. Otherwise they are cloned by snapshots.
	Copies bool
}

// Stage is the clusters of one rehearsal.
type Stage struct {
	Config
	*endpoint.Pair
	// ask describes the rehearsal. It is empty for a stage that only deletes.
	ask rehearsal.Ask
	// set is the source's StatefulSet, and needs the objects of its pods.
	set   *appsv1.StatefulSet
	needs world.Needs
	gates []gate
	// before holds the pods of the source before the rehearsal.
	before map[string]seen
	// relays connect the movers of copies.
	relays *relay.Set
	// user is this user at the destination. admitted is true once it may act in the namespace, and boundAt is when this
	// process has created a RoleBinding for that.
	user     string
	admitted bool
	boundAt  time.Time
}

// New returns the stage of a rehearsal. The namespace of its destination is that of the rehearsal.
func New(c Config, r rehearsal.Record) *Stage {
	side := func(name plan.SideName, at *clusters.Connection, place rehearsal.Place) endpoint.Endpoint {
		return endpoint.Endpoint{
			Side: name, Cluster: at.Name(), Flags: at.Flags(), ID: place.Cluster, Namespace: place.Namespace, Set: place.StatefulSet,
			APIVersion: place.APIVersion, Live: clusters.Judged(at.Live()), Skew: at.Skew,
		}
	}
	pair := &endpoint.Pair{Source: side(plan.SourceSide, c.Source, r.Source), Destination: side(plan.DestinationSide, c.Destination, r.Destination)}
	pair.Destination.Namespace = r.Namespace
	s := &Stage{Config: c, Pair: pair}
	s.relays = relay.NewSet(s.dial, relay.Options{Namespace: r.Source.Namespace})
	return s
}

// Close ends all connections between movers.
func (s *Stage) Close() { s.relays.Close() }

// migration returns the move of which this is the rehearsal, to the rehearsal's namespace.
func (s *Stage) migration(r rehearsal.Record) *api.Migration {
	m := &api.Migration{Spec: *s.Spec.DeepCopy()}
	m.Namespace, m.Name, m.UID = s.Pair.Source.Namespace, s.Pair.Source.Set, r.ID
	m.Spec.Destination.Namespace, m.Spec.Destination.Name = r.Namespace, s.Pair.Destination.Set
	return m
}

// executor renders the objects of the move.
func (s *Stage) executor(r rehearsal.Record) *world.Executor {
	return world.New(s.migration(r), s.Pair, volumes.Unrestricted())
}

// sides returns where health gates are asked.
func (s *Stage) sides() health.Sides {
	at := func(c *clusters.Connection, e endpoint.Endpoint) health.Side {
		return health.Side{Connection: c, Namespace: e.Namespace, StatefulSet: e.Set}
	}
	return health.Sides{
		Source: at(s.Config.Source, s.Pair.Source), Destination: at(s.Config.Destination, s.Pair.Destination),
		Secrets:   health.Secrets{Reader: s.Config.Source.Live(), Kubectl: s.Pair.Source.Kubectl()},
		Addresses: health.Addresses{Any: true},
	}
}

// mark marks an object as one of this rehearsal.
func mark(object client.Object, r rehearsal.Record) {
	labels := object.GetLabels()
	if labels == nil {
		labels = map[string]string{}
	}
	annotations := object.GetAnnotations()
	for _, key := range []string{api.OwnerAnnotationKey, api.FenceAnnotationKey, api.TemplateAnnotationKey, api.MigrationLabelKey} {
		delete(annotations, key) // no migration owns it
		delete(labels, key)
	}
	labels[api.RehearsalLabelKey] = string(r.ID)
	object.SetLabels(labels)
	object.SetAnnotations(annotations)
}

// marked reports whether an object is one of this rehearsal.
func marked(object client.Object, r rehearsal.Record) bool {
	return r.ID != "" && object.GetLabels()[api.RehearsalLabelKey] == string(r.ID)
}

// objectOf returns the state of an object; nil means that it does not exist.
func objectOf[T any, P endpoint.Object[T]](at endpoint.Endpoint, found *T, r rehearsal.Record, named volumes.Ref) rehearsal.Object {
	if found == nil {
		return rehearsal.Object{Ref: named}
	}
	o := P(found)
	return rehearsal.Object{
		Ref:   volumes.Ref{Namespace: o.GetNamespace(), Name: o.GetName(), UID: o.GetUID()},
		Found: true, Terminating: o.GetDeletionTimestamp() != nil, Keeps: volumes.KeepersOf(o), Ours: marked(o, r),
		ResourceVersion: o.GetResourceVersion(), Created: at.Ours(o.GetCreationTimestamp().Time),
	}
}

// get reads an object of the rehearsal.
func get[T any, P endpoint.Object[T]](ctx context.Context, at endpoint.Endpoint, r rehearsal.Record, ref volumes.Ref) (rehearsal.Object, *T, error) {
	found, err := endpoint.Get[T, P](ctx, at.Live, client.ObjectKey{Namespace: ref.Namespace, Name: ref.Name})
	return objectOf[T, P](at, found, r, ref), found, err
}
