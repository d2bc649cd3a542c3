package hostile

import (
	"encoding/json"
	"net/http"
	"strconv"
)

// watcher is a client that watches a resource.
type watcher struct {
	asked  request
	events chan Object
}

// pending is the maximum number of events that a watcher may lag behind before it is disconnected.
const pending = 10000

func (s *Server) now() string { return strconv.FormatInt(s.version, 10) }

// tell sends an event to all matching watchers. The caller holds the lock.
func (s *Server) tell(resource, kind string, object Object) {
	for w := range s.watchers {
		if w.asked.resource != resource || w.asked.namespace != "" && w.asked.namespace != metadataOf(object)["namespace"] {
			continue
		}
		select {
		case w.events <- Object{"type": kind, "object": clone(object)}:
		default:
			delete(s.watchers, w)
			close(w.events)
		}
	}
}

// watch streams changes. If requested, it first sends the existing objects (KEP-3157).
func (s *Server) watch(w http.ResponseWriter, r *http.Request, asked request) {
	mine := &watcher{asked: asked, events: make(chan Object, pending)}
	s.mu.Lock()
	if r.URL.Query().Get("sendInitialEvents") == "true" {
		for _, object := range s.chosen(asked) {
			mine.events <- Object{"type": "ADDED", "object": object}
		}
		of := resources[asked.resource]
		mine.events <- Object{"type": "BOOKMARK", "object": Object{"kind": of.kind, "apiVersion": of.version, "metadata": Object{
			"resourceVersion": s.now(), "annotations": Object{"k8s.io/initial-events-end": "true"},
		}}}
	}
	s.watchers[mine] = struct{}{}
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.watchers, mine)
	}()
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusOK)
	flush(w)
	for {
		select {
		case event, open := <-mine.events:
			if !open || json.NewEncoder(w).Encode(event) != nil {
				return
			}
			flush(w)
		case <-r.Context().Done():
			return
		case <-s.done:
			return
		}
	}
}

func flush(w http.ResponseWriter) {
	if f, ok := w.(http.Flusher); ok {
		f.Flush()
	}
}
