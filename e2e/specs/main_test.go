package specs

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/cache"

	"github.com/sliceshift/sliceshift/e2e/fixture"
	"github.com/sliceshift/sliceshift/e2e/harness"
	"github.com/sliceshift/sliceshift/e2e/kind"
	"github.com/sliceshift/sliceshift/e2e/kind/setup"
	"github.com/sliceshift/sliceshift/e2e/specs/proxy"
)

// enabled is set by the target kind-specs: a plain go test ./... must not start clusters or install docker.
const enabled = "E2E_KIND"

// patienceVariable is the longest time for which the proxy lets a read of a set wait for the controller, such as 0s.
const patienceVariable = "SPECS_PATIENCE"

// programs are the files with which each spec runs. dir has their output.
var programs struct{ dir, suite, kubectl, kubeconfig string }

func TestMain(m *testing.M) {
	if os.Getenv(enabled) == "" {
		fmt.Fprintln(os.Stderr, "skipped: make e2e-kind-specs runs these tests")
		return
	}
	code, err := run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func run(m *testing.M) (code int, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Hour)
	defer cancel()
	pair, dir, err := harness.KindPair(ctx, "e2e-kind-specs")
	if err != nil {
		return 1, err
	}
	defer func() {
		cancel()
		after := context.WithoutCancel(ctx)
		if err != nil || code != 0 {
			err = errors.Join(err, pair.KeepLogs(after))
		}
		err = errors.Join(err, pair.Down(after))
	}()
	programs.dir = dir
	if err := prepare(ctx, pair); err != nil {
		return 1, err
	}
	return m.Run(), nil
}

// prepare loads the images into the nodes, and starts the controller, the provisioner and the proxy of the cluster east.
func prepare(ctx context.Context, pair *kind.Pair) error {
	var err error
	if programs.suite, err = build(ctx, "specs", "."); err != nil {
		return err
	}
	if programs.kubectl, err = build(ctx, "kubectl", kubernetes+"/cmd/kubectl"); err != nil {
		return err
	}
	if !pair.Own() { // the user's clusters pull the images
		images, err := buildImages(ctx, programs.dir, programs.suite)
		if err != nil {
			return err
		}
		if err := pair.Load(ctx, images...); err != nil {
			return err
		}
	}
	east := pair.East
	if err := setup.CRDs(ctx, east); err != nil {
		return err
	}
	api, err := setup.Client(east)
	if err != nil {
		return err
	}
	go setup.Provide(ctx, api)
	if _, err := fixture.StartSlices(ctx, east.Config, cache.Options{}); err != nil {
		return err
	}
	return serve(ctx, east)
}

// serve starts the proxy and writes its kubeconfig.
func serve(ctx context.Context, at *kind.Cluster) error {
	patience := 5 * time.Second
	if text := os.Getenv(patienceVariable); text != "" {
		var err error
		if patience, err = time.ParseDuration(text); err != nil {
			return fmt.Errorf("%s: %w", patienceVariable, err)
		}
	}
	p, err := proxy.New(at.Config, patience)
	if err != nil {
		return err
	}
	address, err := p.Listen(ctx)
	if err != nil {
		return err
	}
	const name = "specs"
	programs.kubeconfig = filepath.Join(programs.dir, "proxy.kubeconfig")
	return clientcmd.WriteToFile(clientcmdapi.Config{
		Clusters:  map[string]*clientcmdapi.Cluster{name: {Server: address}},
		AuthInfos: map[string]*clientcmdapi.AuthInfo{name: {}},
		Contexts:  map[string]*clientcmdapi.Context{name: {Cluster: name, AuthInfo: name}}, CurrentContext: name,
	}, programs.kubeconfig)
}
