package kubeconfig

import (
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

func TestParseRefusesCluster(t *testing.T) {
	pair := newPair(t)
	cases := map[string]struct {
		change func(*clientcmdapi.Cluster)
		want   string
	}{
		"no server":                {func(c *clientcmdapi.Cluster) { c.Server = "" }, "server"},
		"http":                     {func(c *clientcmdapi.Cluster) { c.Server = "http://api.east:8080" }, "server"},
		"http in capitals":         {func(c *clientcmdapi.Cluster) { c.Server = "HTTP://api.east:8080" }, "server"},
		"no scheme":                {func(c *clientcmdapi.Cluster) { c.Server = "api.east:6443" }, "server"},
		"another scheme":           {func(c *clientcmdapi.Cluster) { c.Server = "unix:///run/api.sock" }, "server"},
		"no host":                  {func(c *clientcmdapi.Cluster) { c.Server = "https:///api" }, "server"},
		"opaque":                   {func(c *clientcmdapi.Cluster) { c.Server = "https:api.east" }, "server"},
		"password in the address":  {func(c *clientcmdapi.Cluster) { c.Server = "https://u:" + secretPassword + "@api.east" }, "server"},
		"password, not a URL":      {func(c *clientcmdapi.Cluster) { c.Server = "https://u:" + secretPassword + "%zz@api.east" }, "server"},
		"query":                    {func(c *clientcmdapi.Cluster) { c.Server = "https://api.east/?token=" + secretToken }, "server"},
		"server: localhost":        {func(c *clientcmdapi.Cluster) { c.Server = "https://localhost:6443" }, "server"},
		"server: loopback":         {func(c *clientcmdapi.Cluster) { c.Server = "https://127.0.0.1:6443" }, "server"},
		"server: ::1":              {func(c *clientcmdapi.Cluster) { c.Server = "https://[::1]:6443" }, "server"},
		"server: mapped loopback":  {func(c *clientcmdapi.Cluster) { c.Server = "https://[::ffff:127.0.0.1]" }, "server"},
		"server: unspecified":      {func(c *clientcmdapi.Cluster) { c.Server = "https://0.0.0.0:6443" }, "server"},
		"server: short form":       {func(c *clientcmdapi.Cluster) { c.Server = "https://127.1:6443" }, "server"},
		"server: one number":       {func(c *clientcmdapi.Cluster) { c.Server = "https://2852039166" }, "server"},
		"server: hexadecimal":      {func(c *clientcmdapi.Cluster) { c.Server = "https://0xa9fea9fe" }, "server"},
		"server: trailing dot":     {func(c *clientcmdapi.Cluster) { c.Server = "https://LOCALHOST.:6443" }, "server"},
		"server: metadata service": {func(c *clientcmdapi.Cluster) { c.Server = "https://169.254.169.254/latest" }, "server"},
		"server: metadata, Amazon": {func(c *clientcmdapi.Cluster) { c.Server = "https://[fd00:ec2::254]" }, "server"},
		"server: metadata, Azure":  {func(c *clientcmdapi.Cluster) { c.Server = "https://168.63.129.16" }, "server"},
		"server: link-local":       {func(c *clientcmdapi.Cluster) { c.Server = "https://[fe80::1%25eth0]:6443" }, "server"},
		"server: through NAT64":    {func(c *clientcmdapi.Cluster) { c.Server = "https://[64:ff9b::a9fe:a9fe]" }, "server"},
		"authority in a file":      {func(c *clientcmdapi.Cluster) { c.CertificateAuthority = "ca.crt" }, "certificate-authority"},
		"file beside the content": {func(c *clientcmdapi.Cluster) {
			c.CertificateAuthority, c.CertificateAuthorityData = "ca.crt", pair.cert
		}, "certificate-authority"},
		"authority is no PEM":     {func(c *clientcmdapi.Cluster) { c.CertificateAuthorityData = []byte(secretToken) }, "certificate-authority-data"},
		"no verification":         {func(c *clientcmdapi.Cluster) { c.InsecureSkipTLSVerify = true }, "insecure-skip-tls-verify"},
		"proxy: no URL":           {func(c *clientcmdapi.Cluster) { c.ProxyURL = "http://u:" + secretPassword + "%zz@proxy" }, "proxy-url"},
		"proxy: other scheme":     {func(c *clientcmdapi.Cluster) { c.ProxyURL = "file:///run/proxy" }, "proxy-url"},
		"proxy: no host":          {func(c *clientcmdapi.Cluster) { c.ProxyURL = "http://:3128" }, "proxy-url"},
		"proxy: localhost":        {func(c *clientcmdapi.Cluster) { c.ProxyURL = "http://u:" + secretPassword + "@LocalHost.:3128" }, "proxy-url"},
		"proxy: below localhost":  {func(c *clientcmdapi.Cluster) { c.ProxyURL = "http://a.localhost:3128" }, "proxy-url"},
		"proxy: 127.0.0.2":        {func(c *clientcmdapi.Cluster) { c.ProxyURL = "socks5://127.0.0.2:1080" }, "proxy-url"},
		"proxy: ::1":              {func(c *clientcmdapi.Cluster) { c.ProxyURL = "http://[::1]:3128" }, "proxy-url"},
		"proxy: mapped loopback":  {func(c *clientcmdapi.Cluster) { c.ProxyURL = "http://[::ffff:127.0.0.1]:3128" }, "proxy-url"},
		"proxy: unspecified":      {func(c *clientcmdapi.Cluster) { c.ProxyURL = "http://0.0.0.0:3128" }, "proxy-url"},
		"proxy: short form":       {func(c *clientcmdapi.Cluster) { c.ProxyURL = "http://127.1:3128" }, "proxy-url"},
		"proxy: one number":       {func(c *clientcmdapi.Cluster) { c.ProxyURL = "http://2130706433:3128" }, "proxy-url"},
		"proxy: hexadecimal":      {func(c *clientcmdapi.Cluster) { c.ProxyURL = "http://0x7f.0.0.0x1:3128" }, "proxy-url"},
		"proxy: metadata service": {func(c *clientcmdapi.Cluster) { c.ProxyURL = "http://169.254.169.254" }, "proxy-url"},
		"proxy: IPv6 link-local":  {func(c *clientcmdapi.Cluster) { c.ProxyURL = "http://[fe80::1%25eth0]:3128" }, "proxy-url"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			data := pair.kubeconfig(t, func(c *clientcmdapi.Cluster, _ *clientcmdapi.AuthInfo, _ *clientcmdapi.Config) { tc.change(c) })
			wantRefused(t, data, `clusters["east"].cluster.`+tc.want)
		})
	}
}

func TestParseRefusesUser(t *testing.T) {
	pair, other := newPair(t), newPair(t)
	cases := map[string]struct {
		change func(*clientcmdapi.AuthInfo)
		want   string
	}{
		"exec plugin": {func(u *clientcmdapi.AuthInfo) {
			u.Exec = &clientcmdapi.ExecConfig{Command: "sh", Args: []string{secretToken}}
		}, "exec"},
		"empty exec plugin":   {func(u *clientcmdapi.AuthInfo) { u.Exec = &clientcmdapi.ExecConfig{} }, "exec"},
		"auth provider":       {func(u *clientcmdapi.AuthInfo) { u.AuthProvider = &clientcmdapi.AuthProviderConfig{Name: "oidc"} }, "auth-provider"},
		"certificate file":    {func(u *clientcmdapi.AuthInfo) { u.ClientCertificate = "/etc/client.crt" }, "client-certificate"},
		"key file":            {func(u *clientcmdapi.AuthInfo) { u.ClientKey = "/etc/client.key" }, "client-key"},
		"token file":          {func(u *clientcmdapi.AuthInfo) { u.Token, u.TokenFile = "", "/run/token" }, "tokenFile"},
		"file beside a token": {func(u *clientcmdapi.AuthInfo) { u.TokenFile = "/run/token" }, "tokenFile"},
		"act as":              {func(u *clientcmdapi.AuthInfo) { u.Impersonate = "root" }, "act-as"},
		"act as uid":          {func(u *clientcmdapi.AuthInfo) { u.ImpersonateUID = "0" }, "act-as-uid"},
		"act as groups":       {func(u *clientcmdapi.AuthInfo) { u.ImpersonateGroups = []string{"system:masters"} }, "act-as-groups"},
		"act as extra":        {func(u *clientcmdapi.AuthInfo) { u.ImpersonateUserExtra = map[string][]string{"a": {"b"}} }, "act-as-user-extra"},
		"token and password":  {func(u *clientcmdapi.AuthInfo) { u.Password = secretPassword }, "token"},
		"certificate, no key": {func(u *clientcmdapi.AuthInfo) { u.ClientCertificateData = pair.cert }, "client-key-data"},
		"key, no certificate": {func(u *clientcmdapi.AuthInfo) { u.ClientKeyData = pair.key }, "client-certificate-data"},
		"key is no PEM": {func(u *clientcmdapi.AuthInfo) {
			u.ClientCertificateData, u.ClientKeyData = pair.cert, []byte(secretToken)
		}, "client-certificate-data"},
		"key of another": {func(u *clientcmdapi.AuthInfo) { u.ClientCertificateData, u.ClientKeyData = pair.cert, other.key }, "client-certificate-data"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			data := pair.kubeconfig(t, func(_ *clientcmdapi.Cluster, u *clientcmdapi.AuthInfo, _ *clientcmdapi.Config) { tc.change(u) })
			wantRefused(t, data, `users["mover"].user.`+tc.want)
		})
	}
}

// TestAllowLocal: the operator of the manager may allow addresses that are refused by default.
func TestAllowLocal(t *testing.T) {
	data := newPair(t).kubeconfig(t, func(c *clientcmdapi.Cluster, _ *clientcmdapi.AuthInfo, _ *clientcmdapi.Config) {
		c.Server, c.ProxyURL = "https://127.0.0.1:6443", "http://localhost:3128"
	})
	target, err := Parse(data, Options{AllowLocal: true})
	if err != nil {
		t.Fatalf("Parse: %v", err)
	}
	if target.Config.Dial != nil {
		t.Error("connections are guarded all the same")
	}
	wantRefused(t, data, `clusters["east"].cluster.server`)
}

// TestNamesThatLeadHere: the address that a name resolves to is checked, before any data is sent.
func TestNamesThatLeadHere(t *testing.T) {
	var requests atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { requests.Add(1) }))
	t.Cleanup(server.Close)
	target, err := Parse(newPair(t).kubeconfig(t, func(*clientcmdapi.Cluster, *clientcmdapi.AuthInfo, *clientcmdapi.Config) {}), Options{})
	if err != nil {
		t.Fatalf("Parse: %v", err)
	}
	for _, address := range []string{server.Listener.Addr().String(), "localhost:" + portOf(t, server.Listener.Addr().String()), "169.254.169.254:80", "[fe80::1]:443"} {
		conn, err := target.Config.Dial(t.Context(), "tcp", address)
		if err == nil {
			conn.Close()
			t.Errorf("%s: connected", address)
		} else if !strings.Contains(err.Error(), isLocal) {
			t.Errorf("%s: %v", address, err)
		}
	}
	if requests.Load() > 0 {
		t.Error("a request arrived")
	}
}

func portOf(t *testing.T, address string) string {
	t.Helper()
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		t.Fatal(err)
	}
	return port
}

// TestRefuseLocal checks addresses at connect time, including IPv6 addresses of metadata services, and IPv4 addresses
// embedded in IPv6 (S8).
func TestRefuseLocal(t *testing.T) {
	for address, want := range map[string]bool{
		"10.0.0.1:6443": false, "192.168.1.1:443": false, "[2001:db8::1]:6443": false, "[fd00::1]:6443": false, "[64:ff9b::a00:1]:6443": false,
		"127.0.0.53:443": true, "0.0.0.0:1": true, "[::]:1": true, "169.254.0.1:80": true, "[fe80::1%lo]:80": true,
		"[fd00:ec2::254]:80": true, "[fd00:ec2::23]:80": true, "[fd20:ce::254]:80": true, "[fd00:c1::a9fe:a9fe]:80": true, "[fd00:42::42]:80": true,
		"[::ffff:169.254.169.254]:80": true, "[::169.254.169.254]:80": true, "[::ffff:0:169.254.169.254]:80": true, "[64:ff9b:1::a9fe:a9fe]:80": true,
		"[2002:a9fe:a9fe::1]:80": true, "[2002:a00:1::1]:80": false, "[::ffff:100.100.100.200]:80": true, "[::1]:1": true, "[fd20:ce::1]:443": false,
		"[::ffff:10.0.0.1]:443": false, "[::ffff:127.0.0.1]:443": true, "[64:ff9b::7f00:1]:443": true, "100.100.100.200:80": true,
	} {
		if refused := refuseLocal("tcp", address, nil) != nil; refused != want {
			t.Errorf("%s: refused %v, want %v", address, refused, want)
		}
	}
}
