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

// pagePort is the port of a manager's page.
const pagePort = 8444

// servePage runs a manager for the scene's cluster until the test ends, because its pods run nothing. It maps
// the pods' page port to that manager.
func (s *scene) servePage() {
	s.t.Helper()
	address := loopback.AddressFor(s.t)
	m := harness.ManagerWith(s.t, s.kubeconfig, "", "served.log")
	m.Args = append(m.Args, "--ui-bind-address", address, "--leader-election-id", "served")
	m.Run()
	// kubectl drops a port-forward after one refused connection, so wait until the page is served.
	err := wait.PollUntilContextTimeout(s.ctx, 100*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		return accepts(ctx, address), nil
	})
	if err != nil {
		s.t.Fatalf("the manager does not serve its page: %v", err)
	}
	s.kubelet.ports = map[int32]string{pagePort: address}
}

// accepts reports whether an address accepts connections.
func accepts(ctx context.Context, address string) bool {
	connection, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
	return err == nil && connection.Close() == nil
}

// pageIsThere checks that the port that kubectl printed serves the manager's page.
func (s *scene) pageIsThere(match []string) error {
	transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableKeepAlives: true} //nolint:gosec // it is nobody else's
	browser := &http.Client{Transport: transport}
	var said error
	err := wait.PollUntilContextTimeout(s.ctx, 100*time.Millisecond, time.Minute, true, func(context.Context) (bool, error) {
		response, err := browser.Get("https://localhost:" + match[1] + "/ui/") //nolint:noctx // the poll ends it
		if said = err; err != nil {
			return false, nil // try again
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
