package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/client-go/rest"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/sliceshift/sliceshift/internal/clusters"
)

// requestTimeout bounds each request unless --request-timeout says otherwise: a
// cluster that hangs must be noticed.
const requestTimeout = 15 * time.Second

// destinationFlags say where the replicas go.
type destinationFlags struct {
	kubeconfig, context, namespace, name string
}

func (f *destinationFlags) add(flags *pflag.FlagSet) {
	flags.StringVar(&f.kubeconfig, "to-kubeconfig", "", "kubeconfig file of the destination's cluster (default: the source's)")
	flags.StringVar(&f.context, "to-context", "", "context of the destination's cluster (default: the source's, or the current one of --to-kubeconfig)")
	f.addPlace(flags)
}

func (f *destinationFlags) addPlace(flags *pflag.FlagSet) {
	flags.StringVar(&f.namespace, "to-namespace", "", "namespace of the destination (default: the source's)")
	flags.StringVar(&f.name, "to-name", "", "name of the destination StatefulSet (default: the source's)")
}

func (f *destinationFlags) none() bool { return *f == destinationFlags{} }

// place is a cluster of a kubeconfig that has not been connected to.
type place struct {
	name string
	// address is for people: without a password.
	address string
	config  *rest.Config
}

// source is where the flags --kubeconfig and --context lead to.
func (c *common) source() (place, error) { return locate(c.config, "--kubeconfig or --context") }

// destination is where the flags --to-kubeconfig and --to-context lead to.
func (c *common) destination(to destinationFlags) (place, error) {
	config := genericclioptions.NewConfigFlags(false)
	config.KubeConfig, config.Timeout, config.CacheDir = c.config.KubeConfig, c.config.Timeout, nil
	if to.kubeconfig != "" {
		config.KubeConfig = &to.kubeconfig
	}
	switch {
	case to.context != "":
		config.Context = &to.context
	case to.kubeconfig == "":
		config.Context = c.config.Context
	}
	return locate(config, "--to-kubeconfig or --to-context")
}

func locate(config *genericclioptions.ConfigFlags, flags string) (place, error) {
	loader := config.ToRawKubeConfigLoader()
	raw, err := loader.RawConfig()
	if err != nil {
		return place{}, fmt.Errorf("reading the kubeconfig: %w; set %s", err, flags)
	}
	name := raw.CurrentContext
	if *config.Context != "" {
		name = *config.Context
	}
	if name != "" && raw.Contexts[name] == nil {
		return place{}, fmt.Errorf("the kubeconfig has no context %q, only: %s; set %s", name, contextsOf(raw), flags)
	}
	out, err := config.ToRESTConfig()
	switch {
	case err != nil:
		return place{}, fmt.Errorf("reading the kubeconfig: %w; set %s", err, flags)
	case len(raw.Clusters) == 0 && *config.APIServer == "" && strings.HasSuffix(out.Host, "//localhost:8080"):
		// What client-go falls back to when there is nothing at all.
		return place{}, fmt.Errorf("no kubeconfig was found; set %s, or KUBECONFIG", flags)
	}
	address, _, err := rest.DefaultServerUrlFor(out)
	if err != nil {
		// The cause quotes the address, and that may hold a password.
		return place{}, fmt.Errorf("the kubeconfig's address of the API server of context %q is not a URL; set %s", name, flags)
	}
	if name == "" {
		name = address.Redacted()
	}
	// Priority and fairness of the API server bounds us; the default here would be
	// five requests a second.
	out.QPS = -1
	out.WarningHandler = rest.NoWarnings{}
	if out.Timeout == 0 {
		out.Timeout = requestTimeout
	}
	return place{name, address.Redacted(), out}, nil
}

func contextsOf(config clientcmdapi.Config) string {
	names := slices.Sorted(maps.Keys(config.Contexts))
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}

// namespace is what -n or the context says.
func (c *common) namespace() (string, error) {
	namespace, _, err := c.config.ToRawKubeConfigLoader().Namespace()
	if err != nil {
		if _, err := c.source(); err != nil {
			return "", err // it knows better what is wrong
		}
		return "", fmt.Errorf("reading the kubeconfig: %w; set --namespace", err)
	}
	return namespace, nil
}

// connect prepares the connection to a place.
func (p place) connect(wrap func(*rest.Config)) (*clusters.Connection, error) {
	config := rest.CopyConfig(p.config)
	if wrap != nil {
		wrap(config)
	}
	return clusters.Connect(p.name, config)
}

// apart gives two clusters different names in messages: contexts of two files are
// often called alike.
func apart(source, destination *place) {
	if source.name == destination.name && source.address != destination.address {
		source.name += " (" + source.address + ")"
		destination.name += " (" + destination.address + ")"
	}
}

// unreachable says that a cluster gave no answer, or none that helps.
func unreachable(cluster string, err error) error {
	if errors.Is(err, context.Canceled) {
		return err
	}
	if apierrors.IsForbidden(err) && !strings.Contains(err.Error(), `User "`) {
		return fmt.Errorf("cluster %s refuses it: %w", cluster, err) // a policy says itself what to do
	}
	if apierrors.IsForbidden(err) {
		return fmt.Errorf("cluster %s: a right is missing: %w; bind the ClusterRoles sliceshift-mover and sliceshift-mover-cluster", cluster, err)
	}
	if apierrors.IsUnauthorized(err) {
		return fmt.Errorf("cluster %s does not know this user: %w; log in again, or check the kubeconfig", cluster, err)
	}
	return fmt.Errorf("cluster %s cannot be read: %w; check that it runs and that the kubeconfig is right", cluster, err)
}
