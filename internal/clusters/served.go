package clusters

import (
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
)

// server names an API server that proves who it is; the zero one proves nothing.
type server struct{ host, name, authority string }

// serverOf is the server that a config leads to, by whatever identity and proxy.
func serverOf(config *rest.Config) server {
	tls := config.TLSClientConfig
	if !strings.HasPrefix(config.Host, "https://") || tls.Insecure || tls.CAFile != "" {
		return server{}
	}
	return server{config.Host, tls.ServerName, string(tls.CAData)}
}

// served is which resource each kind is at one API server, as any identity there has found it out. It holds nothing else of what
// that one was shown, and nobody's credentials: who finds a kind here asks for its objects as itself, and who does not finds
// out by itself. A kind that the server has ceased to serve is one that it does not find, as with what one
// identity remembers. It is safe for concurrent use.
type served struct {
	mu    sync.RWMutex
	kinds map[schema.GroupVersionKind]*meta.RESTMapping
}

// resources is the mapper of one identity, beside what is known of its server.
type resources struct {
	meta.RESTMapper
	known *served
	// within bounds how long a kind is searched for; 0: nothing does.
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
