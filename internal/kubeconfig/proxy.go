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

// chooser says by which proxy a request goes; nil: by none.
type chooser = func(*http.Request) (*url.URL, error)

// lookup is that of net.Resolver, LookupNetIP.
type lookup = func(ctx context.Context, network, host string) ([]netip.Addr, error)

// A proxy is asked for with every request, so what a name leads to is looked up anew only after
// lookupEvery, and not for longer than lookupTimeout.
const lookupEvery, lookupTimeout = 10 * time.Second, 2 * time.Second

// proxyOutside judges where a request goes that goes by a proxy: of its connections dialOutside
// sees only the one to the proxy. choose is that of the kubeconfig; nil: the proxy is the one of
// the manager's environment, as client-go would have it. A name that cannot be looked up here,
// such as in a network where only the proxy knows names, is the proxy's to judge, and so is
// what it makes of a name that it looks up anew.
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

// verdict is what was found of a target, and when.
type verdict struct {
	clock clock.PassiveClock

	mu     sync.Mutex
	target string
	at     time.Time
	err    error
}

// of judges a target, unless it was judged a moment ago.
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

// judgeTarget refuses a host that is a local address, or a name that leads to one.
func judgeTarget(ctx context.Context, target string, look lookup) error {
	if local(target) {
		return fmt.Errorf("%s %s", target, isLocal)
	}
	if _, err := netip.ParseAddr(target); err == nil {
		return nil
	}
	addresses, err := look(ctx, "ip", target)
	if err != nil {
		return nil //nolint:nilerr // the proxy may know the name
	}
	for _, address := range addresses {
		if localAddress(address) {
			return fmt.Errorf("%s leads to %s, which %s", target, address, isLocal)
		}
	}
	return nil
}
