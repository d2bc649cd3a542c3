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
	// Kubeconfig is a file by which its administrator reaches it, UserKubeconfig one of
	// another user.
	Kubeconfig() string
	UserKubeconfig(user string, groups ...string) (string, error)
}

// backend is what the two clusters are: embedded control planes, whose kubelets are made up,
// or kind's, where all of it is real.
type backend interface {
	// limit bounds every test: none waits for ever.
	limit() time.Duration
	// deploy starts the application of a move at its source, and waits until it is ready.
	deploy(v *Move) error
	// check judges a test that is through by what its replicas have written.
	check(v *Move, verdict auditor.Report) error
}

// current is the backend; east and west are its clusters. Each test works in namespaces of
// its own.
var (
	current    backend
	east, west Cluster
)

// East is where moves begin.
func East() Cluster { return east }

// West is where moves between clusters go.
func West() Cluster { return west }

// Embeds says whether the clusters are embedded ones: volumes of drivers that exist in name only are attached there.
func Embeds() bool {
	_, embedded := current.(*embeddedBackend)
	return embedded
}

// TimeLimit bounds every test: none waits for ever.
func TimeLimit() time.Duration { return current.limit() }
