package command

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/sliceshift/sliceshift/internal/clusters"
)

// requestTimeout is the timeout of each request, unless --request-timeout sets another, so that a hanging cluster is
// noticed.
const requestTimeout = 15 * time.Second

// Endpoint is a cluster from a kubeconfig, not yet connected.
type Endpoint struct {
	name string
	// address is for display and has no password.
	address string
	// flags are the kubectl flags that select the cluster; empty without a context.
	flags  string
	config *rest.Config
}

// Source returns the cluster that --kubeconfig and --context select.
func (c *Common) Source() (Endpoint, error) { return locate(c.Config, "--kubeconfig or --context") }

// EndpointAt returns the cluster that --kubeconfig and --context would select with these values. An empty value keeps
// the user's flag. flags names the flags that set the values, for messages.
func (c *Common) EndpointAt(kubeconfig, kubecontext, flags string) (Endpoint, error) {
	config := genericclioptions.NewConfigFlags(false)
	config.KubeConfig, config.Timeout, config.CacheDir = c.Config.KubeConfig, c.Config.Timeout, nil
	if kubeconfig != "" {
		config.KubeConfig = &kubeconfig
	}
	switch {
	case kubecontext != "":
		config.Context = &kubecontext
	case kubeconfig == "":
		config.Context = c.Config.Context
	}
	return locate(config, flags)
}

func locate(config *genericclioptions.ConfigFlags, flags string) (Endpoint, error) {
	loader := config.ToRawKubeConfigLoader()
	raw, err := loader.RawConfig()
	if err != nil {
		return Endpoint{}, fmt.Errorf("reading the kubeconfig: %w; set %s", err, flags)
	}
	name := raw.CurrentContext
	if *config.Context != "" {
		name = *config.Context
	}
	if name != "" && raw.Contexts[name] == nil {
		return Endpoint{}, fmt.Errorf("the kubeconfig has no context %q, only: %s; set %s", name, contextsOf(raw), flags)
	}
	out, err := config.ToRESTConfig()
	switch {
	case err != nil:
		return Endpoint{}, fmt.Errorf("reading the kubeconfig: %w; set %s", err, flags)
	case len(raw.Clusters) == 0 && *config.APIServer == "" && strings.HasSuffix(out.Host, "//localhost:8080"):
		// The fallback of client-go when there is no configuration at all.
		return Endpoint{}, fmt.Errorf("no kubeconfig was found; set %s, or KUBECONFIG", flags)
	}
	address, _, err := rest.DefaultServerUrlFor(out)
	if err != nil {
		// The cause quotes the address, which may hold a password.
		return Endpoint{}, fmt.Errorf("the kubeconfig's address of the API server of context %q is not a URL; set %s", name, flags)
	}
	reached := flagsOf(config, name)
	if name == "" {
		name = address.Redacted()
	}
	// Disable the client's rate limit of five requests a second; priority and fairness of the API server limits
	// requests.
	out.QPS = -1
	out.WarningHandler = rest.NoWarnings{}
	if out.Timeout == 0 {
		out.Timeout = requestTimeout
	}
	return Endpoint{name, address.Redacted(), reached, out}, nil
}

// flagsOf returns the flags with which kubectl reaches the same cluster, whatever the current context is then.
func flagsOf(config *genericclioptions.ConfigFlags, kubecontext string) string {
	if kubecontext == "" {
		return ""
	}
	return strings.Join(FlagWords("--kubeconfig", *config.KubeConfig, "--context", kubecontext, "--server", *config.APIServer), " ")
}

// FlagWords returns names and values of flags for the shell, without those that have no value.
func FlagWords(flags ...string) (words []string) {
	for flag := range slices.Chunk(flags, 2) {
		if flag[1] != "" {
			words = append(words, flag[0], Quote(flag[1]))
		}
	}
	return words
}

func contextsOf(config clientcmdapi.Config) string {
	names := slices.Sorted(maps.Keys(config.Contexts))
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}

// Again returns another command for the given object, quoted for the shell, with the flags of this command that select
// the cluster, and further ones.
func (c *Common) Again(verb, name, namespace string, further ...string) string {
	words := append([]string{c.Program, verb, Quote(name)}, FlagWords("-n", namespace, "--kubeconfig", *c.Config.KubeConfig, "--context", *c.Config.Context)...)
	return strings.Join(append(words, further...), " ")
}

// Namespace returns the namespace of -n or of the context.
func (c *Common) Namespace() (string, error) {
	namespace, _, err := c.Config.ToRawKubeConfigLoader().Namespace()
	if err != nil {
		if _, err := c.Source(); err != nil {
			return "", err // its error is more precise
		}
		return "", fmt.Errorf("reading the kubeconfig: %w; set --namespace", err)
	}
	return namespace, nil
}

// ConnectTo prepares the connection to the source, and returns the selected namespace.
func (c *Common) ConnectTo() (connection *clusters.Connection, namespace string, err error) {
	if namespace, err = c.Namespace(); err != nil {
		return nil, "", err
	}
	connection, err = c.Connect()
	return connection, namespace, err
}

// Connect prepares the connection to the source.
func (c *Common) Connect() (*clusters.Connection, error) {
	where, err := c.Source()
	if err != nil {
		return nil, err
	}
	return where.Connect(nil)
}

// Connect prepares the connection to the cluster.
func (p Endpoint) Connect(wrap func(*rest.Config)) (*clusters.Connection, error) {
	config := rest.CopyConfig(p.config)
	if wrap != nil {
		wrap(config)
	}
	connection, err := clusters.Connect(p.name, config)
	if err != nil {
		return nil, err
	}
	return connection.ReachedBy(p.flags), nil
}

// Pods returns a client for the pods of a namespace and their logs. It has no timeout, because a followed log has no end:
// callers limit their other requests.
func (p Endpoint) Pods(namespace string) (corev1client.PodInterface, error) {
	config := rest.CopyConfig(p.config)
	config.Timeout = 0
	core, err := corev1client.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("cluster %s: %w", p.name, err)
	}
	return core.Pods(namespace), nil
}

// Timeout returns the timeout of a single request.
func (p Endpoint) Timeout() time.Duration { return p.config.Timeout }

// Distinguish gives two clusters different names in messages, because contexts of two files often have the same name.
func Distinguish(source, destination *Endpoint) {
	if source.name == destination.name && source.address != destination.address {
		source.name += " (" + source.address + ")"
		destination.name += " (" + destination.address + ")"
	}
}

// Verify returns an error if a connection leads to another cluster than the one with this ID. what describes that one, and
// flags select it. An empty ID accepts any cluster.
func Verify(ctx context.Context, connection *clusters.Connection, id types.UID, what, flags string) error {
	found, err := connection.ID(ctx)
	switch {
	case err != nil:
		return Unreachable(connection.Name(), err)
	case id != "" && found != id:
		return Usagef("cluster %s is not %s: the UID of its namespace kube-system is %s instead of %s; give %s", connection.Name(), what, found, id, flags)
	}
	return nil
}

// Unreachable returns an error for a cluster that did not answer, or refused the request.
func Unreachable(cluster string, err error) error {
	if errors.Is(err, context.Canceled) {
		return err
	}
	if apierrors.IsForbidden(err) && !strings.Contains(err.Error(), `User "`) {
		return fmt.Errorf("cluster %s refuses it: %w", cluster, err) // a policy's message has the remedy
	}
	if apierrors.IsForbidden(err) {
		return fmt.Errorf("cluster %s: a right is missing: %w; bind the ClusterRoles sliceshift-mover and sliceshift-mover-cluster", cluster, err)
	}
	if apierrors.IsUnauthorized(err) {
		return fmt.Errorf("cluster %s does not know this user: %w; log in again, or check the kubeconfig", cluster, err)
	}
	return fmt.Errorf("cluster %s cannot be read: %w; check that it runs and that the kubeconfig is right", cluster, err)
}
