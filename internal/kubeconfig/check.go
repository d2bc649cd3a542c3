package kubeconfig

import (
	"crypto/tls"
	"crypto/x509"
	"net/url"
	"strings"

	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// Reasons and remedies that several fields share.
const (
	readsFile   = "names a file, which would be read on the manager's machine"
	impersonate = "acts as another identity, which hides whose rights a migration uses"
	inlineData  = "put the content into %s: `kubectl config view --raw --flatten` does it"
	ownIdentity = "remove it, and use the credentials of the identity itself"
	useToken    = "use the token of a ServiceAccount or a client certificate"
	isLocal     = "is an address of the manager's own machine or of a cloud's metadata service, which are not for the author of a Migration"
)

// inline returns the remedy that replaces a file by its content.
func inline(field string) string { return strings.Replace(inlineData, "%s", field, 1) }

func checkCluster(prefix string, c *clientcmdapi.Cluster, options Options) error {
	if err := checkServer(prefix+"server", c.Server, options); err != nil {
		return err
	}
	err := check(prefix, []rule{
		{
			c.CertificateAuthority != "", "certificate-authority", readsFile,
			inline("certificate-authority-data"),
		},
		{
			c.InsecureSkipTLSVerify, "insecure-skip-tls-verify", "is true, so that anybody in between could read the credentials and answer for the cluster",
			"remove it, and set certificate-authority-data",
		},
		{
			len(c.CertificateAuthorityData) > 0 && !x509.NewCertPool().AppendCertsFromPEM(c.CertificateAuthorityData),
			"certificate-authority-data", "holds no certificate in PEM",
			"encode the PEM file in base64, once",
		},
	})
	if err != nil || c.ProxyURL == "" {
		return err
	}
	return checkProxy(prefix+"proxy-url", c.ProxyURL, options)
}

// checkServer never quotes the address: it may hold a password.
func checkServer(field, server string, options Options) error {
	u, err := url.Parse(server)
	if err != nil {
		u = &url.URL{}
	}
	return check(field, []rule{
		{server == "", "", "is not set", "set the address of the API server: https://<host>:<port>"},
		{err != nil, "", "is not a URL", "set it to https://<host>:<port>"},
		{u.User != nil, "", "holds a user name, which would end up in logs", "put the credentials under users"},
		{u.Scheme == "http", "", "is an http address, so that credentials and data would be readable on the way", "use the https address of the API server"},
		{u.Scheme != "https" || u.Opaque != "", "", "does not begin with https://", "set it to https://<host>:<port>"},
		{host(u) == "", "", "has no host", "set it to https://<host>:<port>"},
		{!options.AllowLocal && local(host(u)), "", isLocal, "set the address that the API server has in the network; who runs the manager may set clusterClient.allowLocalAddresses"},
		{u.RawQuery != "" || u.Fragment != "", "", "has a query or a fragment, which an API server's address never has", "remove it"},
	})
}

// checkProxy never quotes the address: it may hold a password.
func checkProxy(field, proxy string, options Options) error {
	u, err := url.Parse(proxy)
	if err != nil {
		u = &url.URL{}
	}
	known := u.Scheme == "http" || u.Scheme == "https" || u.Scheme == "socks5"
	return check(field, []rule{
		{err != nil || !known || host(u) == "", "", "is not an address of a proxy", "set it to http://, https:// or socks5://<host>:<port>"},
		{!options.AllowLocal && local(host(u)), "", isLocal, "name a proxy by its address in the network, or remove it"},
	})
}

func checkUser(prefix string, u *clientcmdapi.AuthInfo) error {
	err := check(prefix, []rule{
		{u.Exec != nil, "exec", "runs a program on the manager's machine", useToken},
		{u.AuthProvider != nil, "auth-provider", "runs code on the manager's machine", useToken},
		{u.ClientCertificate != "", "client-certificate", readsFile, inline("client-certificate-data")},
		{u.ClientKey != "", "client-key", readsFile, inline("client-key-data")},
		{u.TokenFile != "", "tokenFile", readsFile, "put the token into token"},
		{u.Impersonate != "", "act-as", impersonate, ownIdentity},
		{u.ImpersonateUID != "", "act-as-uid", impersonate, ownIdentity},
		{len(u.ImpersonateGroups) > 0, "act-as-groups", impersonate, ownIdentity},
		{len(u.ImpersonateUserExtra) > 0, "act-as-user-extra", impersonate, ownIdentity},
		{u.Token != "" && (u.Username != "" || u.Password != ""), "token", "is set beside a user name or password, and only one of them can be sent", "keep one kind of credentials"},
	})
	if err != nil {
		return err
	}
	return checkKeyPair(prefix, u.ClientCertificateData, u.ClientKeyData)
}

// checkKeyPair drops the cause of a failure: it can come from the key itself.
func checkKeyPair(prefix string, cert, key []byte) error {
	if len(cert) == 0 && len(key) == 0 {
		return nil
	}
	_, err := tls.X509KeyPair(cert, key)
	return check(prefix, []rule{
		{len(cert) == 0, "client-certificate-data", "is not set, but client-key-data is", "set both"},
		{len(key) == 0, "client-key-data", "is not set, but client-certificate-data is", "set both"},
		{err != nil, "client-certificate-data", "and client-key-data are no pair of certificate and key in PEM", "encode both PEM files in base64, once"},
	})
}
