package kubeconfig

import (
	"errors"
	"net/http"
	"net/url"
	"testing"

	"k8s.io/client-go/rest"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// FuzzParse: for any input, Parse does not panic, and refuses with a complete RefusedError. It never returns a configuration
// that runs a program, reads a file, impersonates an identity, or connects to an unverified server or to this machine.
func FuzzParse(f *testing.F) {
	pair := newPair(f)
	for _, edit := range []change{
		func(*clientcmdapi.Cluster, *clientcmdapi.AuthInfo, *clientcmdapi.Config) {},
		func(_ *clientcmdapi.Cluster, u *clientcmdapi.AuthInfo, _ *clientcmdapi.Config) {
			*u = clientcmdapi.AuthInfo{ClientCertificateData: pair.cert, ClientKeyData: pair.key, ClientKey: "a"}
		},
		func(c *clientcmdapi.Cluster, _ *clientcmdapi.AuthInfo, _ *clientcmdapi.Config) {
			c.ProxyURL = "http://127.0.0.1:3128"
		},
		func(c *clientcmdapi.Cluster, _ *clientcmdapi.AuthInfo, _ *clientcmdapi.Config) {
			c.Server = "https://[::ffff:169.254.169.254]:6443"
		},
		func(c *clientcmdapi.Cluster, _ *clientcmdapi.AuthInfo, _ *clientcmdapi.Config) {
			c.Server, c.ProxyURL = "https://0x7f.1", "socks5://[64:ff9b::7f00:1]:1080"
		},
		func(c *clientcmdapi.Cluster, u *clientcmdapi.AuthInfo, _ *clientcmdapi.Config) {
			c.CertificateAuthorityData, c.CertificateAuthority = nil, "ca.crt"
			u.Exec = &clientcmdapi.ExecConfig{Command: "sh"}
			u.AuthProvider = &clientcmdapi.AuthProviderConfig{Name: "oidc"}
			u.TokenFile, u.Impersonate = "t", "root"
		},
	} {
		f.Add(pair.kubeconfig(f, edit))
	}
	f.Add([]byte("clusters: [{name: a, cluster: {server: 'https://a'}}]\nusers: [{name: a, user: {token: a}}]\ncontexts: [{name: a, context: {cluster: a, user: a}}]\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		target, err := Parse(data, Options{})
		if err != nil {
			var refused *RefusedError
			if !errors.As(err, &refused) || refused.Field == "" || refused.Why == "" || refused.Remedy == "" || target != (Target{}) {
				t.Fatalf("got %v, %#v", target, err)
			}
			return
		}
		wantSafe(t, target.Config)
	})
}

func wantSafe(t *testing.T, c *rest.Config) {
	t.Helper()
	tls := c.TLSClientConfig
	switch {
	case c.ExecProvider != nil, c.AuthProvider != nil, c.AuthConfigPersister != nil:
		t.Error("runs a program")
	case c.BearerTokenFile != "", tls.CAFile != "", tls.CertFile != "", tls.KeyFile != "":
		t.Error("reads a file")
	case c.Impersonate.UserName != "", c.Impersonate.UID != "", len(c.Impersonate.Groups) > 0, len(c.Impersonate.Extra) > 0:
		t.Error("borrows an identity")
	case tls.Insecure, !rest.IsConfigTransportTLS(*c):
		t.Error("does not verify the server")
	}
	if u, err := url.Parse(c.Host); err != nil || u.Scheme != "https" || u.Host == "" || local(host(u)) {
		t.Errorf("host is %q", c.Host)
	}
	if c.Dial == nil {
		t.Error("connects to whatever address a name leads to")
	}
	if u, err := c.Proxy(&http.Request{URL: &url.URL{Scheme: "https", Host: "192.0.2.1"}}); err != nil || u != nil && local(host(u)) {
		t.Errorf("proxy is %v, %v", u, err)
	}
	if _, err := rest.HTTPClientFor(c); err != nil {
		t.Errorf("unusable: %v", err)
	}
}
