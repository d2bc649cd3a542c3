// Package kubeconfig converts the kubeconfig in a Secret to a client configuration.
//
// Authors of the Secret must gain no access to the machine of the manager that reads it. Everything is refused that would
// run a program or read a file there, or impersonate another identity. It also refuses to send credentials over an
// unauthenticated connection, or to a service of the machine itself. It uses only the address, the certificates and the
// credentials in the kubeconfig itself. The result is built from these fields one by one, so that no other field can get in.
//
// Only the current context is used, with its cluster and user. Parse reads no files and opens no connections.
package kubeconfig

import (
	"fmt"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"strings"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/utils/clock"
)

// maxSize is the size limit of a Secret, which is far larger than a kubeconfig.
const maxSize = 1 << 20

// Options are the choices of the manager's operator.
type Options struct {
	// AllowLocal allows addresses of the manager's own machine and link-local addresses.
	AllowLocal bool
}

// Target is the cluster and identity of a kubeconfig's current context.
type Target struct {
	// Config has no QPS, Burst and Timeout. The caller sets them.
	Config *rest.Config
	// Cluster is equal for two kubeconfigs with the same address and authority, for any identity.
	Cluster string
	// Identity is equal for two kubeconfigs with the same Config: address, proxy, authority and credentials. It reveals no
	// credentials, and differs between processes.
	Identity string
}

// Parse returns the target of the current context. Every error is a *RefusedError.
func Parse(data []byte, options Options) (Target, error) {
	selected, err := load(data)
	if err != nil {
		return Target{}, err
	}
	if err := checkCluster(selected.clusterField(), selected.cluster, options); err != nil {
		return Target{}, err
	}
	if err := checkUser(selected.userField(), selected.user); err != nil {
		return Target{}, err
	}
	config := selected.restConfig()
	if !options.AllowLocal {
		config.Dial = dialOutside
		config.Proxy = proxyOutside(config.Proxy, net.DefaultResolver.LookupNetIP, clock.RealClock{})
	}
	return Target{config, selected.place(), selected.identity()}, nil
}

// selection is the current context, resolved.
type selection struct {
	clusterName, userName string
	cluster               *clientcmdapi.Cluster
	user                  *clientcmdapi.AuthInfo
}

func (s selection) clusterField() string { return "clusters[" + label(s.clusterName) + "].cluster." }

func (s selection) userField() string { return "users[" + label(s.userName) + "].user." }

// label returns a name for a message, printable and of limited length.
func label(name string) string { return fmt.Sprintf("%.63q", name) }

// restConfig copies the fields that checkCluster and checkUser accept.
func (s selection) restConfig() *rest.Config {
	config := &rest.Config{
		Host:               s.cluster.Server,
		DisableCompression: s.cluster.DisableCompression,
		BearerToken:        s.user.Token,
		Username:           s.user.Username,
		Password:           s.user.Password,
		TLSClientConfig: rest.TLSClientConfig{
			ServerName: s.cluster.TLSServerName,
			CAData:     s.cluster.CertificateAuthorityData,
			CertData:   s.user.ClientCertificateData,
			KeyData:    s.user.ClientKeyData,
		},
	}
	if proxy, err := url.Parse(s.cluster.ProxyURL); err == nil && s.cluster.ProxyURL != "" {
		config.Proxy = http.ProxyURL(proxy)
	}
	return config
}

var yamlLine = regexp.MustCompile(`line \d+`)

// load decodes the kubeconfig and resolves its current context.
func load(data []byte) (selection, error) {
	if len(data) > maxSize {
		return selection{}, &RefusedError{Field: "content", Why: "is larger than a Secret can be", Remedy: "store the kubeconfig of one cluster only"}
	}
	config, err := clientcmd.Load(data)
	if err != nil {
		// The error quotes the content, so only its line number is passed on.
		why := "is not a kubeconfig in YAML or JSON"
		if line := yamlLine.FindString(err.Error()); line != "" {
			why += " (" + line + ")"
		}
		return selection{}, &RefusedError{
			Field: "content", Why: why,
			Remedy: "check it with `kubectl config view --kubeconfig <file>`, and store the whole file in the Secret",
		}
	}
	return selectContext(config)
}

func selectContext(config *clientcmdapi.Config) (selection, error) {
	name := config.CurrentContext
	if name == "" && len(config.Contexts) == 1 {
		for only := range config.Contexts {
			name = only
		}
	}
	context := config.Contexts[name]
	err := check("", []rule{
		{len(config.Contexts) == 0, "contexts", "is empty", "store the output of `kubectl config view --raw --minify --flatten`"},
		{name == "", "current-context", "is not set and there are several contexts, so the cluster is ambiguous", "set current-context, or keep one context"},
		{context == nil, "current-context", "names a context that does not exist", "name one of the contexts"},
	})
	if err != nil {
		return selection{}, err
	}
	s := selection{
		clusterName: context.Cluster, cluster: config.Clusters[context.Cluster],
		userName: context.AuthInfo, user: config.AuthInfos[context.AuthInfo],
	}
	return s, check("contexts["+label(name)+"].context.", []rule{
		{s.cluster == nil, "cluster", "names a cluster that does not exist", "add the cluster"},
		{s.user == nil, "user", "names a user that does not exist", "add the user with a token or a client certificate"},
	})
}

// host returns the host name of an address in a normalized form.
func host(u *url.URL) string {
	return strings.ToLower(strings.TrimSuffix(u.Hostname(), "."))
}
