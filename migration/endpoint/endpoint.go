// Package endpoint says where one side of a migration is, and reads its objects: by what apiVersion
// its StatefulSet goes, through which client or cache. It decides nothing.
package endpoint

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sliceshift/sliceshift/internal/shell"
	"github.com/sliceshift/sliceshift/migration/plan"
)

// Endpoint is where one side's objects are, and how to read and write them.
type Endpoint struct {
	Side    plan.SideName
	Cluster string
	// Flags lead kubectl there; empty where no context is known.
	Flags string
	// ID tells the cluster from every other one.
	ID        types.UID
	Namespace string
	Set       string
	// APIVersion is the apiVersion of the StatefulSet.
	APIVersion string
	// ExportVersion is the version of ServiceExport that the cluster serves; empty
	// when it serves none.
	ExportVersion string
	// Cached answers from a watched view; live asks the API server.
	Cached client.Reader
	Live   client.Client
	// Lender is whoever lends Live its identity, and as whom; nil, or no client: it has its own.
	Lender func() (lender client.Client, user string, err error)
	// Skew is how far the clock of the cluster is ahead of ours; nil: it is taken for ours.
	Skew func() time.Duration
}

// Ours is when by our clock it was what the cluster calls so.
func (p Endpoint) Ours(theirs time.Time) time.Time {
	if p.Skew == nil || theirs.IsZero() {
		return theirs
	}
	return theirs.Add(-p.Skew())
}

// Theirs is what the cluster calls a time by our clock.
func (p Endpoint) Theirs(ours time.Time) time.Time {
	if p.Skew == nil {
		return ours
	}
	return ours.Add(p.Skew())
}

// Pair are both sides of a migration.
type Pair struct{ Source, Destination Endpoint }

// At is one of them.
func (e *Pair) At(name plan.SideName) Endpoint {
	if name == plan.SourceSide {
		return e.Source
	}
	return e.Destination
}

// SameCluster says whether both are in one cluster.
func (e *Pair) SameCluster() bool { return e.Source.ID == e.Destination.ID }

// Resource is how kubectl calls the kind of the side's StatefulSet.
func (p Endpoint) Resource() string { return p.Kind().Resource() }

// Kubectl begins a command for the cluster of the side.
func (p Endpoint) Kubectl() shell.Kubectl { return plan.Kubectl(p.Cluster, p.Flags) }

// Key names an object of the side's namespace.
func (p Endpoint) Key(name string) client.ObjectKey {
	return client.ObjectKey{Namespace: p.Namespace, Name: name}
}

// Object names the side's StatefulSet, for people.
func (p Endpoint) Object() string {
	return fmt.Sprintf("StatefulSet %s/%s in cluster %s", p.Namespace, p.Set, p.Cluster)
}
