package clusters

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
)

// asked is a mapper that counts its requests.
type asked struct {
	meta.RESTMapper
	kinds []string
}

func (a *asked) RESTMapping(kind schema.GroupKind, versions ...string) (*meta.RESTMapping, error) {
	a.kinds = append(a.kinds, kind.Kind)
	return a.RESTMapper.RESTMapping(kind, versions...)
}

// TestServed: a kind that one identity has discovered at a server is known to the next one. A kind that it has not found is
// searched for by each identity.
func TestServed(t *testing.T) {
	pods, budgets := corev1.SchemeGroupVersion.WithKind("Pod"), policyv1.SchemeGroupVersion.WithKind("PodDisruptionBudget")
	serves := meta.NewDefaultRESTMapper(nil)
	serves.Add(pods, meta.RESTScopeNamespace)
	pool := NewPool(1)
	first, second := &asked{RESTMapper: serves}, &asked{RESTMapper: serves}
	at := server{host: "https://east"}
	for _, identity := range []*asked{first, second} {
		mapper := resources{RESTMapper: identity, known: pool.known(at)}
		for _, gvk := range []schema.GroupVersionKind{pods, pods, budgets} {
			found, err := mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
			if known := gvk == pods; known != (err == nil) || known && found.Resource.Resource != "pods" {
				t.Errorf("%s: %+v, %v", gvk.Kind, found, err)
			}
		}
	}
	if diff := cmp.Diff([][]string{{"Pod", "PodDisruptionBudget"}, {"PodDisruptionBudget"}}, [][]string{first.kinds, second.kinds}); diff != "" {
		t.Errorf("asked for (-want +got):\n%s", diff)
	}
	stranger := &asked{RESTMapper: serves}
	if _, err := (resources{RESTMapper: stranger, known: pool.known(server{host: "https://west"})}).RESTMapping(pods.GroupKind(), pods.Version); err != nil || len(stranger.kinds) != 1 {
		t.Errorf("another server is asked for %v: %v", stranger.kinds, err)
	}
	pool.forget(at)
	if _, err := (resources{RESTMapper: stranger, known: pool.known(at)}).RESTMapping(pods.GroupKind(), pods.Version); err != nil || len(stranger.kinds) != 2 {
		t.Errorf("once all have left, it is asked for %v: %v", stranger.kinds, err)
	}
}

// TestServerOf: the discovery of one identity is used for another one only if both have verified that they use the same
// server.
func TestServerOf(t *testing.T) {
	tls := func(change func(*rest.TLSClientConfig)) rest.Config {
		config := rest.Config{Host: "https://east", BearerToken: "a", TLSClientConfig: rest.TLSClientConfig{CAData: []byte("a")}}
		change(&config.TLSClientConfig)
		return config
	}
	same := tls(func(*rest.TLSClientConfig) {})
	other := same
	other.BearerToken = "b"
	if serverOf(&same) != serverOf(&other) || serverOf(&same) == (server{}) {
		t.Errorf("two identities: %+v, %+v", serverOf(&same), serverOf(&other))
	}
	for name, config := range map[string]rest.Config{
		"another authority": tls(func(c *rest.TLSClientConfig) { c.CAData = []byte("b") }),
		"another name":      tls(func(c *rest.TLSClientConfig) { c.ServerName = "west" }),
		"another address":   {Host: "https://west", TLSClientConfig: same.TLSClientConfig},
	} {
		if got := serverOf(&config); got == serverOf(&same) || got == (server{}) {
			t.Errorf("%s: %+v", name, got)
		}
	}
	for name, config := range map[string]rest.Config{
		"no proof is asked for": tls(func(c *rest.TLSClientConfig) { c.Insecure = true }),
		"a file, which changes": tls(func(c *rest.TLSClientConfig) { c.CAFile = "ca.crt" }),
		"no TLS":                {Host: "http://east"},
		"no scheme":             {Host: "east"},
	} {
		if got := serverOf(&config); got != (server{}) {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// TestServesAsksForItself: each identity checks itself whether a kind is served, because a proxy may lead identities at one
// address to different clusters.
func TestServesAsksForItself(t *testing.T) {
	pods := corev1.SchemeGroupVersion.WithKind("Pod")
	known := NewPool(1).known(server{host: "https://proxy"})
	known.keep(pods, &meta.RESTMapping{Resource: corev1.SchemeGroupVersion.WithResource("pods"), GroupVersionKind: pods, Scope: meta.RESTScopeNamespace})
	there := meta.NewDefaultRESTMapper(nil)
	there.Add(pods, meta.RESTScopeNamespace)
	for name, tc := range map[string]struct {
		own  meta.RESTMapper
		want bool
	}{"its cluster does": {there, true}, "its cluster does not": {meta.NewDefaultRESTMapper(nil), false}} {
		connection := &Connection{core: &core{scheme: NewScheme(), mapper: resources{RESTMapper: tc.own, known: known}}}
		if got, err := connection.Serves(t.Context(), &corev1.Pod{}); err != nil || got != tc.want {
			t.Errorf("%s: %t, %v", name, got, err)
		}
	}
}
