package kubeconfig

import (
	"context"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"sync"
	"time"

	"k8s.io/utils/clock"
)

// chooser returns the proxy of a request, or nil.
type chooser = func(*http.Request) (*url.URL, error)

// lookup is the LookupNetIP of a net.Resolver.
type lookup = func(ctx context.Context, network, host string) ([]netip.Addr, error)

// The proxy function runs for every request. Therefore a name is resolved again only after lookupEvery, for at most
// lookupTimeout.
const lookupEvery, lookupTimeout = 10 * time.Second, 2 * time.Second

// proxyOutside checks the target of requests that use a proxy, because dialOutside sees only the connection to the proxy.
// choose is the proxy function of the kubeconfig. nil means the proxy of the manager's environment, as in client-go. If a
// name cannot be resolved here, for example because only the proxy can, the proxy must check it. It must also check the
// result when it resolves a name again.
func proxyOutside(choose chooser, look lookup, now clock.PassiveClock) chooser {
	if choose == nil {
		choose = http.ProxyFromEnvironment
	}
	judged := &verdict{clock: now}
	return func(req *http.Request) (*url.URL, error) {
		proxy, err := choose(req)
		if proxy == nil || err != nil {
			return nil, err
		}
		return proxy, judged.of(req.Context(), host(req.URL), look)
	}
}

// verdict is the last result for a target, with its time.
type verdict struct {
	clock clock.PassiveClock

	mu     sync.Mutex
	target string
	at     time.Time
	err    error
}

// of checks a target, unless the last result is recent.
func (v *verdict) of(ctx context.Context, target string, look lookup) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.target == target && v.clock.Since(v.at) < lookupEvery {
		return v.err
	}
	ctx, cancel := context.WithTimeout(ctx, lookupTimeout)
	defer cancel()
	v.err = judgeTarget(ctx, target, look)
	v.target, v.at = target, v.clock.Now()
	return v.err
}

// judgeTarget refuses a local address, or a name that resolves to one.
func judgeTarget(ctx context.Context, target string, look lookup) error {
	if local(target) {
		return fmt.Errorf("%s %s", target, isLocal)
	}
	if _, err := netip.ParseAddr(target); err == nil {
		return nil
	}
	addresses, err := look(ctx, "ip", target)
	if err != nil {
		return nil //nolint:nilerr // the proxy may be able to resolve the name
	}
	for _, address := range addresses {
		if localAddress(address) {
			return fmt.Errorf("%s leads to %s, which %s", target, address, isLocal)
		}
	}
	return nil
}
