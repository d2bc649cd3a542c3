// Package endpoint holds the location of one side of a migration, and reads its objects: the apiVersion of its
// StatefulSet, and the client or cache to use. It decides nothing.
package endpoint

import (
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sliceshift/sliceshift/internal/shell"
	"github.com/sliceshift/sliceshift/migration/pause"
	"github.com/sliceshift/sliceshift/migration/plan"
)

// Endpoint holds the location of one side's objects, and the clients to read and write them.
type Endpoint struct {
	Side    plan.SideName
	Cluster string
	// Flags select the cluster in kubectl commands; empty if no context is known.
	Flags string
	// ID identifies the cluster.
	ID        types.UID
	Namespace string
	Set       string
	// APIVersion is the apiVersion of the StatefulSet.
	APIVersion string
	// ExportVersion is the version of ServiceExport that the cluster serves; empty if it serves none.
	ExportVersion string
	// Cached reads from a watched view; Live sends requests to the API server.
	Cached client.Reader
	Live   client.Client
	// Lender returns the client of the identity that impersonates another one for Live, and the name of the
	// impersonated user. If Lender or that client is nil, Live uses an identity of its own.
	Lender func() (lender client.Client, user string, err error)
	// Skew is how far the clock of the cluster is ahead of ours; nil means that both are the same.
	Skew func() time.Duration
}

// Ours converts a time of the cluster's clock to our clock.
func (p Endpoint) Ours(theirs time.Time) time.Time {
	if p.Skew == nil || theirs.IsZero() {
		return theirs
	}
	return theirs.Add(-p.Skew())
}

// Theirs converts a time of our clock to the cluster's clock.
func (p Endpoint) Theirs(ours time.Time) time.Time {
	if p.Skew == nil {
		return ours
	}
	return ours.Add(p.Skew())
}

// Pair holds both sides of a migration.
type Pair struct{ Source, Destination Endpoint }

// At returns one side.
func (e *Pair) At(name plan.SideName) Endpoint {
	if name == plan.SourceSide {
		return e.Source
	}
	return e.Destination
}

// SameCluster reports whether the two sides are in one cluster.
func (e *Pair) SameCluster() bool { return e.Source.ID == e.Destination.ID }

// Resource returns kubectl's name for the kind of the side's StatefulSet.
func (p Endpoint) Resource() string { return p.Kind().Resource() }

// Kubectl returns the prefix of commands for the cluster of the side.
func (p Endpoint) Kubectl() shell.Kubectl { return plan.Kubectl(p.Cluster, p.Flags) }

// PauseCommand returns the command that pauses the controller of a resource in the namespace by its setting.
func (p Endpoint) PauseCommand(setting pause.Setting, kind schema.GroupKind, name string) string {
	return p.Kubectl().Do("patch", strings.ToLower(kind.Kind)+"."+kind.Group, "-n", p.Namespace, name, "--type=merge", "-p", setting.Pausing())
}

// Key returns the key of an object in the side's namespace.
func (p Endpoint) Key(name string) client.ObjectKey {
	return client.ObjectKey{Namespace: p.Namespace, Name: name}
}

// Object describes the side's StatefulSet for users.
func (p Endpoint) Object() string {
	return fmt.Sprintf("StatefulSet %s/%s in cluster %s", p.Namespace, p.Set, p.Cluster)
}
