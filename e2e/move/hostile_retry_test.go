package move

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/e2e/hostile"
)

// later is the number of Migrations in two namespaces. Their servers send a Retry-After of one hour, or answer
// each request at the last moment.
const later = 24

// TestK2RetryAfter: servers that send a Retry-After of one hour occupy no worker meanwhile, in any number of
// namespaces. Other moves keep their speed, within the memory limit of the manifest, and the affected
// Migrations report the cause.
func TestK2RetryAfter(t *testing.T) {
	n := startTenancy(t, "later")
	n.neighbour(t, 3, time.Minute) // the first move waits for much else
	alone := n.neighbours(t, 4, 0)
	tenants := []*tenant{n.tenant(t), n.tenant(t)}
	all := map[*api.Migration]*tenant{}
	for i := range later {
		h := tenants[i%len(tenants)]
		name := fmt.Sprintf("later-%d", i)
		s := h.server(name)
		s.Hook(comesLater(i, s))
		all[h.migrates(name, "", name)] = h
	}
	beside := n.neighbours(t, 4, besideAtLeast)
	speed := alone[0] / beside[0]
	if len(beside) >= manyMoves {
		speed = median(alone) / median(beside)
	}
	t.Logf("a move of 3 took %.2f s (the fastest of %d), and %.2f s beside %d Migrations of 2 namespaces (the fastest of %d; the slowest %.2f s)",
		alone[0], len(alone), beside[0], later, len(beside), beside[len(beside)-1])
	if speed < keptSpeed {
		t.Errorf("others have kept %.2f of their speed, want %.2f", speed, keptSpeed)
	}
	for m, h := range all {
		h.awaitReason(m, 2*time.Minute, api.ReasonClusterUnreachable)
	}
	if peak := n.manager.Peak(); peak > shippedMemory(t) {
		t.Errorf("the manager's peak was %d MiB, and the manifest allows %d MiB", peak>>20, shippedMemory(t)>>20)
	}
}

// comesLater returns one of several hooks that make the client wait.
func comesLater(way int, s *hostile.Server) hostile.Hook {
	code := []int{http.StatusTooManyRequests, http.StatusServiceUnavailable}[way/2%2]
	wait := func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "3600")
		hostile.Refuse(w, code, "TooManyRequests", "come again in an hour")
	}
	discovery := func(w http.ResponseWriter, r *http.Request) bool {
		if path := strings.Trim(r.URL.Path, "/"); path != "api" && !strings.HasPrefix(path, "apis") {
			return false
		}
		wait(w, r)
		return true
	}
	switch way / 4 % 3 {
	case 0:
		return hostile.Always(wait)
	case 1:
		return discovery
	default:
		return hostile.Always(s.Silent)
	}
}
