package kubeconfig

import (
	"context"
	"errors"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/utils/clock"
	testingclock "k8s.io/utils/clock/testing"
)

// TestTargetsBehindAProxy: the target of a request through a proxy is checked too (S8).
func TestTargetsBehindAProxy(t *testing.T) {
	names := map[string][]string{
		"api.east": {"10.0.0.1", "2001:db8::1"}, "here.example.com": {"127.0.0.1"}, "metadata.example.com": {"10.0.0.1", "169.254.169.254"},
		"mapped.example.com": {"::ffff:169.254.169.254"}, "amazon.example.com": {"fd00:ec2::254"},
	}
	look := func(_ context.Context, _, host string) (found []netip.Addr, err error) {
		for _, each := range names[host] {
			found = append(found, netip.MustParseAddr(each))
		}
		if found == nil {
			err = errors.New("no such host")
		}
		return found, err
	}
	proxy := &url.URL{Scheme: "http", Host: "proxy.example.com:3128"}
	for target, refused := range map[string]bool{
		"https://api.east:6443/api": false, "https://10.0.0.1:6443": false, "https://only.the.proxy.knows": false,
		"https://here.example.com": true, "https://HERE.example.com.": true, "https://metadata.example.com": true, "https://mapped.example.com": true,
		"https://amazon.example.com": true, "https://169.254.169.254": true, "https://localhost:6443": true, "https://[::1]": true,
	} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, target, nil)
		if err != nil {
			t.Fatal(err)
		}
		by, err := proxyOutside(http.ProxyURL(proxy), look, clock.RealClock{})(req)
		if refused != (err != nil) || err != nil && !strings.Contains(err.Error(), isLocal) || err == nil && by.Host != proxy.Host {
			t.Errorf("%s: by %v, %v", target, by, err)
		}
		// Without a proxy, the connection itself is checked.
		if by, err := proxyOutside(http.ProxyURL(nil), look, clock.RealClock{})(req); by != nil || err != nil {
			t.Errorf("%s: by %v, %v, without a proxy", target, by, err)
		}
	}
}

// TestTargetsAreJudgedAgain: a name is resolved again after some time, because it may lead elsewhere, but not for each
// request (S8).
func TestTargetsAreJudgedAgain(t *testing.T) {
	leads, looked := netip.MustParseAddr("10.0.0.1"), 0
	look := func(context.Context, string, string) ([]netip.Addr, error) {
		looked++
		return []netip.Addr{leads}, nil
	}
	now := testingclock.NewFakePassiveClock(time.Unix(0, 0))
	choose := proxyOutside(http.ProxyURL(&url.URL{Scheme: "http", Host: "proxy.example.com"}), look, now)
	ask := func() error {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://api.example.com", nil)
		if err != nil {
			t.Fatal(err)
		}
		_, err = choose(req)
		return err
	}
	for range 3 {
		if err := ask(); err != nil || looked != 1 {
			t.Fatalf("looked up %d times: %v", looked, err)
		}
	}
	leads = netip.MustParseAddr("127.0.0.1")
	now.SetTime(now.Now().Add(lookupEvery))
	if err := ask(); err == nil || looked != 2 {
		t.Errorf("looked up %d times: %v", looked, err)
	}
}

// TestProxyOfTheEnvironment: HTTPS_PROXY is used, and does not bypass the check (S8). A process reads it only once, so the
// test runs another process.
func TestProxyOfTheEnvironment(t *testing.T) {
	if os.Getenv("PROXY_OF_THE_TEST") == "" {
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestProxyOfTheEnvironment$", "-test.v")
		cmd.Env = append(os.Environ(), "PROXY_OF_THE_TEST=yes", "HTTPS_PROXY=http://proxy.example.com:3128", "NO_PROXY=")
		if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "judged both") {
			t.Fatalf("%v\n%s", err, out)
		}
		return
	}
	leads, err := Parse(newPair(t).kubeconfig(t, func(*clientcmdapi.Cluster, *clientcmdapi.AuthInfo, *clientcmdapi.Config) {}), Options{})
	if err != nil {
		t.Fatal(err)
	}
	for target, refused := range map[string]bool{"https://192.0.2.1:6443": false, "https://[::ffff:169.254.169.254]": true} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, target, nil)
		if err != nil {
			t.Fatal(err)
		}
		by, err := leads.Config.Proxy(req)
		if by == nil || by.Host != "proxy.example.com:3128" || refused != (err != nil) {
			t.Fatalf("%s: by %v, %v", target, by, err)
		}
	}
	t.Log("judged both")
}
