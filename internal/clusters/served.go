package clusters

import (
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
)

// server identifies an API server with a verified identity. The zero value means no verified identity.
type server struct{ host, name, authority string }

// serverOf returns the server of a config, independently of identity and proxy.
func serverOf(config *rest.Config) server {
	tls := config.TLSClientConfig
	if !strings.HasPrefix(config.Host, "https://") || tls.Insecure || tls.CAFile != "" {
		return server{}
	}
	return server{config.Host, tls.ServerName, string(tls.CAData)}
}

// served maps each kind to its resource at one API server, as discovered by any identity. It holds nothing else of that
// identity's data and no credentials. An identity that uses an entry requests the objects with its own credentials, and an
// identity without an entry runs its own discovery. If the server stops serving a kind, requests return not found, as with a
// mapper of a single identity. It is safe for concurrent use.
type served struct {
	mu    sync.RWMutex
	kinds map[schema.GroupVersionKind]*meta.RESTMapping
}

// resources is the mapper of one identity, with the known resources of its server.
type resources struct {
	meta.RESTMapper
	known *served
	// within limits the search for a kind. 0 means no limit.
	within time.Duration
}

// RESTMapping implements meta.RESTMapper.
func (r resources) RESTMapping(kind schema.GroupKind, versions ...string) (*meta.RESTMapping, error) {
	if len(versions) != 1 || r.known == nil {
		return r.search(kind, versions...)
	}
	key := kind.WithVersion(versions[0])
	if found := r.known.find(key); found != nil {
		return found, nil
	}
	found, err := r.search(kind, versions...)
	if err == nil {
		r.known.keep(key, found)
	}
	return found, err
}

func (s *served) find(key schema.GroupVersionKind) *meta.RESTMapping {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.kinds[key]
}

func (s *served) keep(key schema.GroupVersionKind, found *meta.RESTMapping) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.kinds[key] = found
}
