package suite

import (
	"context"
	"errors"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/go-logr/logr"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/sliceshift/sliceshift/e2e/kind"
	"github.com/sliceshift/sliceshift/e2e/kind/cases"
	"github.com/sliceshift/sliceshift/e2e/kind/setup"
	"github.com/sliceshift/sliceshift/e2e/mcs"
)

// enabled is set by the targets kind-suite-1 and -2: a plain go test ./... must not start clusters or install docker.
const enabled = "E2E_KIND"

// pair is shared by all tests: each works in its own namespaces.
var pair *kind.Pair

// results are printed when all tests have ended.
var results cases.Table

func TestMain(m *testing.M) {
	if os.Getenv(enabled) == "" {
		fmt.Fprintln(os.Stderr, "skipped: make e2e-kind runs these tests")
		return
	}
	ctrl.SetLogger(logr.Discard())
	os.Exit(run(m))
}

func run(m *testing.M) (code int) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Hour)
	defer cancel()
	dir, err := kind.EmptyDir("e2e-kind")
	if err == nil {
		pair, err = start(ctx, dir)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	if code = m.Run(); code != 0 {
		err = pair.KeepLogs(ctx)
		fmt.Fprintln(os.Stderr, "what the nodes logged and the clusters held is in", dir)
	}
	if pair.Borrowed() { // other tests follow, which run their own managers
		for _, c := range pair.All() {
			err = errors.Join(err, setup.RemoveManager(ctx, c))
		}
	}
	if err := errors.Join(err, pair.Down(ctx)); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	results.Print(os.Stdout)
	if code == 0 {
		_ = os.RemoveAll(dir)
	}
	return code
}

// start starts the clusters with everything that all tests need.
func start(ctx context.Context, dir string) (*kind.Pair, error) {
	begin := time.Now()
	p, err := kind.UpWithHub(ctx, dir, os.Stderr)
	if err != nil {
		return nil, err
	}
	fmt.Fprintf(os.Stderr, "the clusters are up after %.1f s\n", time.Since(begin).Seconds())
	if err := prepare(ctx, p, dir); err != nil {
		return nil, errors.Join(err, p.Down(ctx))
	}
	fmt.Fprintf(os.Stderr, "ready for tests after %.1f s\n", time.Since(begin).Seconds())
	return p, nil
}

func prepare(ctx context.Context, p *kind.Pair, dir string) error {
	if err := loadImages(ctx, p, dir); err != nil {
		return err
	}
	for _, c := range p.Both() {
		if err := setup.Storage(ctx, c); err != nil {
			return err
		}
		if p.Own() {
			continue
		}
		if err := errors.Join(mcs.Install(ctx, c.Config), mcs.InstallDNS(ctx, c.Config, dnsImage)); err != nil {
			return fmt.Errorf("cluster %s: %w", c.Name, err)
		}
	}
	return prepareManagers(ctx, p)
}

// prepareManagers runs a manager in every cluster. Each handles the Migrations and the slices of its own cluster.
func prepareManagers(ctx context.Context, p *kind.Pair) error {
	for _, c := range p.All() {
		if err := errors.Join(setup.CRDs(ctx, c), setup.Manager(ctx, c, managerImage)); err != nil {
			return err
		}
	}
	for _, c := range p.All() {
		if err := setup.AwaitManager(ctx, c); err != nil {
			return err
		}
	}
	return nil
}
