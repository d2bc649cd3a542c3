// Package kubeconfig turns the kubeconfig in a Secret into a client configuration.
//
// Whoever may write the Secret must gain nothing on the machine of the manager
// that reads it, so everything is refused that would run a program or read a file
// there, borrow another identity, or send credentials over a connection that is
// not authenticated, or to a service of the machine itself. What is left is the address, certificates and credentials in
// the kubeconfig itself. The result is built from those fields one by one: what is
// not named here cannot get in.
//
// Only the current context counts, with its cluster and user. Parse reads nothing
// and connects to nothing.
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

// maxSize is the size limit of a Secret; no kubeconfig comes near it.
const maxSize = 1 << 20

// Options are what the operator of the manager allows.
type Options struct {
	// AllowLocal lets addresses lead to the manager's own machine and to link-local
	// addresses.
	AllowLocal bool
}

// Target is where the current context of a kubeconfig leads.
type Target struct {
	// Config has no QPS, Burst and Timeout: they are left to the caller.
	Config *rest.Config
	// Cluster is the same for two kubeconfigs with the same address and authority, whoever goes there.
	Cluster string
	// Identity is the same for two kubeconfigs of which all counts that Config is made from: the way to
	// the cluster, its authority, and the credentials. It tells nothing of those, and is another one in
	// each process.
	Identity string
}

// Parse returns where the current context leads. Every error is a *RefusedError.
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

// label makes a name fit for a message: of bounded length and printable.
func label(name string) string { return fmt.Sprintf("%.63q", name) }

// restConfig copies what checkCluster and checkUser have let pass.
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

// load decodes the kubeconfig and follows its current context.
func load(data []byte) (selection, error) {
	if len(data) > maxSize {
		return selection{}, &RefusedError{Field: "content", Why: "is larger than a Secret can be", Remedy: "store the kubeconfig of one cluster only"}
	}
	config, err := clientcmd.Load(data)
	if err != nil {
		// The cause quotes the content: only its line number is passed on.
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

// host is the host name of an address, in the form in which it is compared.
func host(u *url.URL) string {
	return strings.ToLower(strings.TrimSuffix(u.Hostname(), "."))
}
