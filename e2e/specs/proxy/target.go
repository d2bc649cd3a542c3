package proxy

import (
	"net/http"
	"slices"
	"strings"
)

// target is the resource that a request names.
type target struct {
	// path is the path of the request at the API server.
	path string
	// sets is true for StatefulSets. The other resources are those that StatefulSets own.
	sets              bool
	name, subresource string
}

const statefulSets = "statefulsets"

// groups are the resources whose objects the proxy translates, by the prefix of their paths.
var groups = map[string][]string{
	"/api/v1/":       {"pods", "persistentvolumeclaims"},
	"/apis/apps/v1/": {statefulSets, "controllerrevisions"},
}

// targetOf returns the target of a path whose requests and answers are translated. Streams into pods are not.
func targetOf(path string) (t target, found bool) {
	for prefix, resources := range groups {
		below, under := strings.CutPrefix(path, prefix)
		if !under {
			continue
		}
		parts := strings.Split(strings.TrimSuffix(below, "/"), "/")
		if len(parts) > 2 && parts[0] == "namespaces" {
			parts = parts[2:]
		}
		if !slices.Contains(resources, parts[0]) {
			return target{}, false
		}
		t = target{path: path, sets: parts[0] == statefulSets}
		if t.sets {
			t.path = "/apis/" + ours + "/" + below
		}
		if len(parts) > 1 {
			t.name = parts[1]
			t.subresource = strings.Join(parts[2:], "/")
		}
		return t, t.sets || t.subresource == "" || t.subresource == "status"
	}
	return target{}, false
}

// isWatch reports whether the answer to a request is a stream of events.
func isWatch(r *http.Request) bool {
	value := r.URL.Query().Get("watch")
	return value == "true" || value == "1"
}
