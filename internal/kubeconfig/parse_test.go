package kubeconfig

import (
	"encoding/base64"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/client-go/rest"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// change edits the cluster, the user and the rest of a valid kubeconfig.
type change func(c *clientcmdapi.Cluster, u *clientcmdapi.AuthInfo, all *clientcmdapi.Config)

func TestParse(t *testing.T) {
	pair := newPair(t)
	cases := map[string]struct {
		change change
		want   rest.Config
	}{
		"token": {
			change: func(*clientcmdapi.Cluster, *clientcmdapi.AuthInfo, *clientcmdapi.Config) {},
			want:   rest.Config{Host: "https://api.east:6443", BearerToken: secretToken, TLSClientConfig: rest.TLSClientConfig{CAData: pair.cert}},
		},
		"client certificate": {
			change: func(_ *clientcmdapi.Cluster, u *clientcmdapi.AuthInfo, _ *clientcmdapi.Config) {
				*u = clientcmdapi.AuthInfo{ClientCertificateData: pair.cert, ClientKeyData: pair.key}
			},
			want: rest.Config{Host: "https://api.east:6443", TLSClientConfig: rest.TLSClientConfig{CAData: pair.cert, CertData: pair.cert, KeyData: pair.key}},
		},
		"password": {
			change: func(_ *clientcmdapi.Cluster, u *clientcmdapi.AuthInfo, _ *clientcmdapi.Config) {
				*u = clientcmdapi.AuthInfo{Username: "mover", Password: secretPassword}
			},
			want: rest.Config{Host: "https://api.east:6443", Username: "mover", Password: secretPassword, TLSClientConfig: rest.TLSClientConfig{CAData: pair.cert}},
		},
		"server name, path and no compression": {
			change: func(c *clientcmdapi.Cluster, _ *clientcmdapi.AuthInfo, _ *clientcmdapi.Config) {
				c.Server, c.TLSServerName, c.DisableCompression = "https://10.0.0.1/k8s/clusters/c-1", "api.east", true
			},
			want: rest.Config{
				Host: "https://10.0.0.1/k8s/clusters/c-1", BearerToken: secretToken, DisableCompression: true,
				TLSClientConfig: rest.TLSClientConfig{CAData: pair.cert, ServerName: "api.east"},
			},
		},
		"certificate authorities of the system": {
			change: func(c *clientcmdapi.Cluster, _ *clientcmdapi.AuthInfo, _ *clientcmdapi.Config) {
				c.CertificateAuthorityData = nil
			},
			want: rest.Config{Host: "https://api.east:6443", BearerToken: secretToken},
		},
		"only context, not named as current": {
			change: func(_ *clientcmdapi.Cluster, _ *clientcmdapi.AuthInfo, all *clientcmdapi.Config) {
				all.CurrentContext = ""
			},
			want: rest.Config{Host: "https://api.east:6443", BearerToken: secretToken, TLSClientConfig: rest.TLSClientConfig{CAData: pair.cert}},
		},
		"plugin in a context that is not used": {
			change: func(_ *clientcmdapi.Cluster, _ *clientcmdapi.AuthInfo, all *clientcmdapi.Config) {
				all.AuthInfos["other"] = &clientcmdapi.AuthInfo{Exec: &clientcmdapi.ExecConfig{Command: "sh"}}
				all.Contexts["other"] = &clientcmdapi.Context{Cluster: "east", AuthInfo: "other"}
			},
			want: rest.Config{Host: "https://api.east:6443", BearerToken: secretToken, TLSClientConfig: rest.TLSClientConfig{CAData: pair.cert}},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			target, err := Parse(pair.kubeconfig(t, tc.change), Options{})
			if err != nil {
				t.Fatalf("Parse: %v", err)
			}
			got := target.Config
			if got.Dial == nil || got.Proxy == nil {
				t.Error("connections are not guarded")
			}
			got.Dial, got.Proxy = nil, nil // functions cannot be compared
			if diff := cmp.Diff(tc.want, *got, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("Config (-want +got):\n%s", diff)
			}
		})
	}
}

func TestParseProxy(t *testing.T) {
	for _, want := range []string{"http://proxy.corp:3128", "https://user:pass@10.0.0.9:443", "socks5://[2001:db8::1]:1080"} {
		t.Run(want, func(t *testing.T) {
			target, err := Parse(newPair(t).kubeconfig(t, func(c *clientcmdapi.Cluster, _ *clientcmdapi.AuthInfo, _ *clientcmdapi.Config) {
				c.ProxyURL = want
			}), Options{})
			if err != nil {
				t.Fatalf("Parse: %v", err)
			}
			got, err := target.Config.Proxy(&http.Request{URL: &url.URL{Scheme: "https", Host: "192.0.2.1"}})
			if err != nil || got.String() != want {
				t.Errorf("proxy: got %v, %v, want %s", got, err, want)
			}
		})
	}
}

func TestParseRefusesContent(t *testing.T) {
	cases := map[string]struct {
		data string
		want string
	}{
		"empty":                  {"", "contexts"},
		"not YAML":               {"users: [" + secretToken, "content"},
		"wrong type":             {"apiVersion: v1\nkind: Config\nusers: " + secretToken, "content"},
		"not base64":             {"clusters:\n- name: a\n  cluster: {certificate-authority-data: \"!" + secretToken + "\"}", "content"},
		"another kind":           {"apiVersion: v1\nkind: Secret\n", "content"},
		"encoded twice":          {base64.StdEncoding.EncodeToString([]byte("apiVersion: v1\nkind: Config\n")), "content"},
		"larger than a Secret":   {strings.Repeat("#", maxSize+1), "content"},
		"repeated user":          {"users:\n- name: a\n- name: a\n", "content"},
		"no contexts":            {"apiVersion: v1\nkind: Config\n", "contexts"},
		"context is missing":     {"current-context: b\ncontexts:\n- name: a\n  context: {cluster: c, user: u}\n", "current-context"},
		"several, none current":  {"contexts:\n- name: a\n- name: b\n", "current-context"},
		"cluster is missing":     {"contexts:\n- name: a\n  context: {cluster: c, user: u}\n", `contexts["a"].context.cluster`},
		"user is missing":        {"clusters:\n- name: c\ncontexts:\n- name: a\n  context: {cluster: c, user: u}\n", `contexts["a"].context.user`},
		"name that is not plain": {"contexts:\n- name: \"a\\n\"\n  context: {cluster: c, user: u}\n", `contexts["a\n"].context.cluster`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) { wantRefused(t, []byte(tc.data), tc.want) })
	}
}

// wantRefused checks for a complete refusal of that field, without a secret in it.
func wantRefused(t *testing.T, data []byte, wantField string) {
	t.Helper()
	target, err := Parse(data, Options{})
	var refused *RefusedError
	if !errors.As(err, &refused) {
		t.Fatalf("Parse: got %v, %v, want a RefusedError", target.Config, err)
	}
	if refused.Field != wantField {
		t.Errorf("field: got %q, want %q", refused.Field, wantField)
	}
	if refused.Why == "" || refused.Remedy == "" {
		t.Errorf("why or remedy is missing: %+v", refused)
	}
	for _, secret := range []string{secretToken, secretPassword} {
		if strings.Contains(err.Error(), secret) {
			t.Errorf("error tells a secret: %v", err)
		}
	}
}
