package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/internal/clusters"
	"github.com/sliceshift/sliceshift/internal/kubeconfig"
	"github.com/sliceshift/sliceshift/migration/endpoint"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/migration/world"
)

// Connector opens the connections of a Migration. It uses the kubeconfig in a Secret of the Migration's
// namespace for a remote cluster, and a ServiceAccount of that namespace for the local one. An admission policy
// must check that the author of the Migration may use both.
type Connector struct {
	// Secrets reads from the API server, because Secrets are not cached.
	Secrets client.Reader
	// Local is the manager's own configuration.
	Local *rest.Config
	// DefaultServiceAccount is impersonated if a Migration names no account.
	DefaultServiceAccount string
	// QPS, Burst and Timeout apply to every connection.
	QPS     float32
	Burst   int
	Timeout time.Duration
	// KubeConfigs restricts the contents of kubeconfigs.
	KubeConfigs kubeconfig.Options
	Pool        *clusters.Pool
}

// refusal is the reason why a connection cannot be opened and a retry would not help.
type refusal struct {
	hold plan.Hold
	// gone is true if a Secret does not exist.
	gone bool
}

func (r *refusal) Error() string { return r.hold.Message }

// link is the connection of one side. key identifies its cluster and credentials.
type link struct {
	connection *clusters.Connection
	release    func()
	key        string
}

// way describes how a cluster is reached; config is nil if it must not be reached.
type way struct {
	key, name string
	config    *rest.Config
	// tenant is the owner of the cluster; empty means the manager's own cluster.
	tenant clusters.Tenant
}

// offKey is the key of a side that is not connected. localPrefix begins the key of the manager's own cluster.
// remotePrefix begins that of another cluster, and the cluster's digest follows. The identity comes last.
const (
	offKey       = "off"
	localPrefix  = "local/"
	remotePrefix = "kubeconfig/"
)

// off returns the way to a permanently lost destination. Whether its Secret exists, its contents, and whether
// the cluster answers do not matter. The destination is reconnected when the mode changes.
func off(ref *api.SecretKeyReference) way {
	if ref == nil {
		return way{key: offKey, name: localName}
	}
	return way{key: offKey, name: ref.Name}
}

// localName is the name of the manager's own cluster.
const localName = "local"

// open returns both connections of a Migration, source first.
func (c *Connector) open(ctx context.Context, m *api.Migration) (source, destination link, err error) {
	from, to, err := c.ways(ctx, m)
	if err != nil {
		return link{}, link{}, err
	}
	source, err = c.get(from)
	if err != nil {
		return link{}, link{}, err
	}
	destination, err = c.get(to)
	if err != nil {
		source.release()
		return link{}, link{}, err
	}
	return source, destination, nil
}

// keys returns the keys that the connections of a Migration would have now.
func (c *Connector) keys(ctx context.Context, m *api.Migration) (source, destination string, err error) {
	from, to, err := c.ways(ctx, m)
	return from.key, to.key, err
}

func (c *Connector) ways(ctx context.Context, m *api.Migration) (source, destination way, err error) {
	if source, err = c.way(ctx, m, m.Spec.Source.KubeConfigSecretRef); err != nil {
		return way{}, way{}, err
	}
	if world.Recovers(m) {
		return source, off(m.Target().KubeConfigSecretRef), nil
	}
	destination, err = c.way(ctx, m, m.Target().KubeConfigSecretRef)
	return source, destination, err
}

func (c *Connector) way(ctx context.Context, m *api.Migration, ref *api.SecretKeyReference) (way, error) {
	if ref == nil {
		return c.local(m)
	}
	key := ref.Key
	if key == "" {
		key = "value"
	}
	where := fmt.Sprintf("Secret %s/%s", m.Namespace, ref.Name)
	secret, err := endpoint.Get[corev1.Secret](ctx, c.Secrets, client.ObjectKey{Namespace: m.Namespace, Name: ref.Name})
	switch {
	case len(validation.IsDNS1123Subdomain(ref.Name)) > 0:
		return way{}, lacking(fmt.Sprintf("%q is not the name of a Secret", ref.Name), "name a Secret of namespace "+m.Namespace)
	case err != nil:
		return way{}, fmt.Errorf("reading %s: %w", where, err)
	case secret == nil:
		return way{}, goneSecret(m, ref.Name, key)
	case len(secret.Data[key]) == 0:
		return way{}, lacking(fmt.Sprintf("%s has no key %q", where, key), fmt.Sprintf("put the kubeconfig there: %s | kubectl apply -f -", plan.Kubectl(localName, "").Do("create", "secret", "generic", "-n", m.Namespace, ref.Name, "--from-file="+key+"=KUBECONFIG", "--dry-run=client", "-o", "yaml")))
	}
	target, err := kubeconfig.Parse(secret.Data[key], c.KubeConfigs)
	if err != nil {
		return way{}, refusedKubeconfig(where, key, err)
	}
	return way{remotePrefix + target.Cluster + "/" + target.Identity, ref.Name, target.Config, clusters.Tenant(m.Namespace)}, nil
}

func lacking(message, remedy string) error {
	return &refusal{hold: plan.Hold{Reason: api.ReasonKubeConfigMissing, Message: message, Remedy: remedy, Stalled: true}}
}

// goneSecret returns the refusal for a Secret that does not exist. In a namespace that is being deleted, none
// can be created.
func goneSecret(m *api.Migration, name, key string) error {
	where, kubectl := fmt.Sprintf("Secret %s/%s", m.Namespace, name), plan.Kubectl(localName, "")
	hold := plan.Hold{
		Reason: api.ReasonKubeConfigMissing, Message: where + " does not exist", Stalled: true,
		Remedy: kubectl.Do("create", "secret", "generic", "-n", m.Namespace, name, "--from-file="+key+"=KUBECONFIG"),
	}
	if !m.DeletionTimestamp.IsZero() {
		hold = plan.Hold{
			Reason: api.ReasonKubeConfigMissing, Message: where + " does not exist, and the Migration is being deleted", Stalled: true,
			Remedy: fmt.Sprintf("%s; in a namespace that is being deleted, this is refused: start ordinals that are down by hand, then remove the finalizer: %s", kubectl.Do("create", "secret", "generic", "-n", m.Namespace, name, "--from-file="+key+"=KUBECONFIG"), kubectl.Do("patch", "migration", "-n", m.Namespace, m.Name, "--type=merge", "-p", `{"metadata":{"finalizers":null}}`)),
		}
	}
	return &refusal{hold: hold, gone: true}
}

func refusedKubeconfig(where, key string, err error) error {
	hold := plan.Hold{Reason: api.ReasonKubeConfigRefused, Message: fmt.Sprintf("the kubeconfig in %s, key %q, is refused: %v", where, key, err), Stalled: true}
	if reason, ok := errors.AsType[*kubeconfig.RefusedError](err); ok {
		hold.Message = fmt.Sprintf("the kubeconfig in %s, key %q, is refused: %s %s", where, key, reason.Field, reason.Why)
		hold.Remedy = reason.Remedy
	}
	return &refusal{hold: hold}
}

func (c *Connector) local(m *api.Migration) (way, error) {
	account := m.Spec.ServiceAccountName
	if account == "" {
		account = c.DefaultServiceAccount
	}
	if len(validation.IsDNS1123Subdomain(account)) > 0 {
		return way{}, &refusal{hold: plan.Hold{
			Reason: api.ReasonPermissionMissing, Message: fmt.Sprintf("%q is not the name of a ServiceAccount", account),
			Remedy: "name a ServiceAccount of namespace " + m.Namespace + " in spec.serviceAccountName", Stalled: true,
		}}
	}
	user := "system:serviceaccount:" + m.Namespace + ":" + account
	config := rest.CopyConfig(c.Local)
	config.Impersonate = rest.ImpersonationConfig{UserName: user}
	return way{key: localPrefix + user, name: localName, config: config}, nil
}

func (c *Connector) get(w way) (link, error) {
	if w.config == nil {
		connection, err := clusters.Off(w.name)
		return link{connection: connection, release: func() {}, key: w.key}, err
	}
	w.config.QPS, w.config.Burst, w.config.Timeout = c.QPS, c.Burst, c.Timeout
	connection, release, err := c.Pool.Get(w.key, w.name, w.config, w.tenant)
	if err != nil {
		return link{}, err
	}
	return link{connection: connection, release: release, key: w.key}, nil
}
