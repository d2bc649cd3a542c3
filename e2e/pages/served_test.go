package pages

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/sliceshift/sliceshift/e2e/harness"
	"github.com/sliceshift/sliceshift/internal/loopback"
)

// pagePort is where a manager serves its page.
const pagePort = 8444

// servePage runs the manager of the scene's cluster, whose pods run nothing, until the test ends, and has its page stand for
// the port of the pods.
func (s *scene) servePage() {
	s.t.Helper()
	address := loopback.AddressFor(s.t)
	m := harness.ManagerWith(s.t, s.kubeconfig, "", "served.log")
	m.Args = append(m.Args, "--ui-bind-address", address, "--leader-election-id", "served")
	m.Run()
	// kubectl gives up a port that refuses one connection, so the page is there before anybody asks for it.
	err := wait.PollUntilContextTimeout(s.ctx, 100*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		return accepts(ctx, address), nil
	})
	if err != nil {
		s.t.Fatalf("the manager does not serve its page: %v", err)
	}
	s.kubelet.ports = map[int32]string{pagePort: address}
}

// accepts says whether somebody takes connections at an address.
func accepts(ctx context.Context, address string) bool {
	connection, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
	return err == nil && connection.Close() == nil
}

// pageIsThere: at the port that kubectl has printed is the page of the manager.
func (s *scene) pageIsThere(match []string) error {
	transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableKeepAlives: true} //nolint:gosec // it is nobody else's
	browser := &http.Client{Transport: transport}
	var said error
	err := wait.PollUntilContextTimeout(s.ctx, 100*time.Millisecond, time.Minute, true, func(context.Context) (bool, error) {
		response, err := browser.Get("https://localhost:" + match[1] + "/ui/") //nolint:noctx // the poll ends it
		if said = err; err != nil {
			return false, nil // it is asked again
		}
		defer response.Body.Close()
		page, err := io.ReadAll(response.Body)
		if said = err; err == nil && !strings.Contains(string(page), "<title>Moves</title>") {
			said = fmt.Errorf("it is %s: %s", response.Status, page)
		}
		return said == nil, nil
	})
	if err != nil {
		return fmt.Errorf("%w: %w", err, said)
	}
	return nil
}
