package kubeconfig

import (
	"strings"
	"testing"

	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// TestIdentity: kubeconfigs with an equal identity have exactly the same address, authority and credentials. The names of
// the entries do not matter.
func TestIdentity(t *testing.T) {
	pair, other := newPair(t), newPair(t)
	identity := func(change change) string {
		t.Helper()
		target, err := Parse(pair.kubeconfig(t, change), Options{})
		if err != nil {
			t.Fatal(err)
		}
		return target.Identity
	}
	plain := identity(func(*clientcmdapi.Cluster, *clientcmdapi.AuthInfo, *clientcmdapi.Config) {})
	if plain == "" || strings.Contains(plain, secretToken) {
		t.Errorf("the identity is %q", plain)
	}
	same := identity(func(_ *clientcmdapi.Cluster, _ *clientcmdapi.AuthInfo, all *clientcmdapi.Config) {
		all.Clusters["west"], all.AuthInfos["me"] = all.Clusters["east"], all.AuthInfos["mover"]
		all.Contexts["mine"] = &clientcmdapi.Context{Cluster: "west", AuthInfo: "me", Namespace: "shop"}
		all.CurrentContext = "mine"
	})
	if same != plain {
		t.Error("names make it another identity")
	}
	seen := map[string]string{plain: "the plain one"}
	for name, change := range map[string]change{
		"another address": func(c *clientcmdapi.Cluster, _ *clientcmdapi.AuthInfo, _ *clientcmdapi.Config) { c.Server += "/" },
		"another authority": func(c *clientcmdapi.Cluster, _ *clientcmdapi.AuthInfo, _ *clientcmdapi.Config) {
			c.CertificateAuthorityData = other.cert
		},
		"another name of the server": func(c *clientcmdapi.Cluster, _ *clientcmdapi.AuthInfo, _ *clientcmdapi.Config) {
			c.TLSServerName = "east"
		},
		"another proxy": func(c *clientcmdapi.Cluster, _ *clientcmdapi.AuthInfo, _ *clientcmdapi.Config) {
			c.ProxyURL = "http://proxy.corp:1"
		},
		"another token": func(_ *clientcmdapi.Cluster, u *clientcmdapi.AuthInfo, _ *clientcmdapi.Config) { u.Token += "x" },
		"a certificate": func(_ *clientcmdapi.Cluster, u *clientcmdapi.AuthInfo, _ *clientcmdapi.Config) {
			*u = clientcmdapi.AuthInfo{ClientCertificateData: pair.cert, ClientKeyData: pair.key}
		},
		"another certificate": func(_ *clientcmdapi.Cluster, u *clientcmdapi.AuthInfo, _ *clientcmdapi.Config) {
			*u = clientcmdapi.AuthInfo{ClientCertificateData: other.cert, ClientKeyData: other.key}
		},
		"a password": func(_ *clientcmdapi.Cluster, u *clientcmdapi.AuthInfo, _ *clientcmdapi.Config) {
			*u = clientcmdapi.AuthInfo{Username: "mover", Password: secretPassword}
		},
		"the same text, cut elsewhere": func(_ *clientcmdapi.Cluster, u *clientcmdapi.AuthInfo, _ *clientcmdapi.Config) {
			*u = clientcmdapi.AuthInfo{Username: "mover" + secretPassword[:1], Password: secretPassword[1:]}
		},
	} {
		got := identity(change)
		if before, found := seen[got]; found {
			t.Errorf("%s has the identity of %s", name, before)
		}
		seen[got] = name
	}
}

// TestCluster: identity and proxy do not change the cluster of a target.
func TestCluster(t *testing.T) {
	pair, other := newPair(t), newPair(t)
	cluster := func(change change) string {
		t.Helper()
		target, err := Parse(pair.kubeconfig(t, change), Options{})
		if err != nil {
			t.Fatal(err)
		}
		return target.Cluster
	}
	plain := cluster(func(*clientcmdapi.Cluster, *clientcmdapi.AuthInfo, *clientcmdapi.Config) {})
	for name, tc := range map[string]struct {
		change change
		same   bool
	}{
		"another token": {func(_ *clientcmdapi.Cluster, u *clientcmdapi.AuthInfo, _ *clientcmdapi.Config) { u.Token += "x" }, true},
		"a proxy": {func(c *clientcmdapi.Cluster, _ *clientcmdapi.AuthInfo, _ *clientcmdapi.Config) {
			c.ProxyURL = "http://proxy.corp:1"
		}, true},
		"another address": {func(c *clientcmdapi.Cluster, _ *clientcmdapi.AuthInfo, _ *clientcmdapi.Config) {
			c.Server = "https://api.west:6443"
		}, false},
		"another authority": {func(c *clientcmdapi.Cluster, _ *clientcmdapi.AuthInfo, _ *clientcmdapi.Config) {
			c.CertificateAuthorityData = other.cert
		}, false},
	} {
		if got := cluster(tc.change); got == "" || (got == plain) != tc.same {
			t.Errorf("%s: the cluster is %q, and was %q", name, got, plain)
		}
	}
}
