// Package harness holds the parts that all kinds of end-to-end tests share. It starts two clusters, embedded or
// kind (Main, East, West), and deploys an application that moves between them while an auditor watches (Move).
// It also runs the managers that move the application (Manager, ManagerReplicas), and defines the moments of a
// move at which a test acts (Moment).
package harness

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/sliceshift/sliceshift/e2e/auditor"
	"github.com/sliceshift/sliceshift/e2e/built"
	"github.com/sliceshift/sliceshift/e2e/kind/cases"
)

// Start starts the clusters for the tests of a package and returns a function that stops them. That function
// keeps logs when a test has failed.
type Start func(context.Context) (end func(failed bool) error, err error)

// Main runs the tests of a package. It uses embedded clusters or, for the tests in onKind, kind clusters. It
// returns the exit code.
func Main(m *testing.M, onKind []string, embedded, kind Start) int {
	code, err := runTests(m, onKind, embedded, kind)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return code
}

func runTests(m *testing.M, onKind []string, embedded, kind Start) (code int, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), 15*time.Minute)
	defer cancel()
	onReal, err := cases.Chosen(onKind)
	if err != nil {
		return 0, err
	}
	start := embedded
	if onReal {
		start = kind
	}
	end, err := start(ctx)
	if err != nil {
		return 0, err
	}
	code = m.Run()
	return code, errors.Join(end(code != 0), removePrograms())
}

// CheckCases checks that each case either runs on kind or has a stated reason why it does not.
func CheckCases(t *testing.T, onKind []string, embeddedOnly map[string]string) {
	t.Helper()
	wrong, err := cases.Check(".", onKind, embeddedOnly)
	if err != nil {
		t.Fatal(err)
	}
	for _, each := range wrong {
		t.Error(each)
	}
}

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

// programs builds a command of this repository once for all tests.
var programs = struct {
	sync.Mutex
	dir   string
	built map[string]string
}{built: map[string]string{}}

// Program returns the path of a command of this repository and builds it if necessary.
func Program(t testing.TB, name string) string {
	t.Helper()
	programs.Lock()
	defer programs.Unlock()
	if path := programs.built[name]; path != "" {
		return path
	}
	if programs.dir == "" {
		dir, err := os.MkdirTemp("", "sliceshift-programs-") //nolint:usetesting // it outlives the test that asks first
		if err != nil {
			t.Fatal(err)
		}
		programs.dir = dir
	}
	path := filepath.Join(programs.dir, name)
	if err := built.Command(t.Context(), name, path); err != nil {
		t.Fatal(err)
	}
	programs.built[name] = path
	return path
}

// removePrograms deletes the built commands.
func removePrograms() error {
	programs.Lock()
	defer programs.Unlock()
	return os.RemoveAll(programs.dir)
}
