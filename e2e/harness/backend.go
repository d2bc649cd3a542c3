package harness

import (
	"time"

	"k8s.io/client-go/rest"

	"github.com/sliceshift/sliceshift/e2e/auditor"
)

// Cluster is one of the two clusters that all tests share.
type Cluster interface {
	Name() string
	RESTConfig() *rest.Config
	// Kubeconfig returns the path of the cluster administrator's kubeconfig; UserKubeconfig returns that of
	// another user.
	Kubeconfig() string
	UserKubeconfig(user string, groups ...string) (string, error)
}

// backend provides the two clusters. The embedded backend runs control planes with simulated kubelets; in the
// kind backend everything is real.
type backend interface {
	// limit bounds the duration of each test.
	limit() time.Duration
	// deploy creates the application at its source and waits until it is ready.
	deploy(v *Move) error
	// check judges a finished test by the data that its replicas have written.
	check(v *Move, verdict auditor.Report) error
}

// current is the backend; east and west are its clusters. Each test works in its own namespaces.
var (
	current    backend
	east, west Cluster
)

// East returns the cluster in which moves begin.
func East() Cluster { return east }

// West returns the destination cluster of moves between clusters.
func West() Cluster { return west }

// Embeds reports whether the clusters are embedded. They attach volumes of drivers that exist in name only.
func Embeds() bool {
	_, embedded := current.(*embeddedBackend)
	return embedded
}

// TimeLimit returns the maximum duration of a test.
func TimeLimit() time.Duration { return current.limit() }
