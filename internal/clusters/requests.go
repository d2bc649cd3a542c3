package clusters

import (
	"net/http"
	"slices"
	"strings"

	"github.com/sliceshift/sliceshift/internal/metric"
)

var requestsTotal = metric.Counter(metric.Definition{
	Name: "sliceshift_cluster_requests_total", Labels: []string{"verb", "result"},
	Help: "Requests to the API servers of both sides of all migrations, by verb (get, list, watch, create, update, patch, delete, discover) and result: done, conflict, refused (any other 4xx), failed (no answer, or the API server's fault).",
	Use:  "What moves cost API servers: divided by sliceshift_migration_handoffs_completed_total, the reads and writes of one handoff. failed is a cluster that does not answer.",
})

// counted counts requests by result.
type counted struct{ next http.RoundTripper }

// WrappedRoundTripper implements net.RoundTripperWrapper of apimachinery.
func (c counted) WrappedRoundTripper() http.RoundTripper { return c.next }

// RoundTrip implements http.RoundTripper.
func (c counted) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := c.next.RoundTrip(req)
	requestsTotal.WithLabelValues(verbOf(req), resultOf(resp, err)).Inc()
	return resp, err
}

// resultOf returns one of a few labels, because an untrusted cluster could answer with any code.
func resultOf(resp *http.Response, err error) string {
	switch {
	case err != nil, resp.StatusCode >= http.StatusInternalServerError:
		return "failed"
	case resp.StatusCode == http.StatusConflict:
		return "conflict"
	case resp.StatusCode >= http.StatusBadRequest:
		return "refused"
	default:
		return "done"
	}
}

// verbOf returns the verb of a request as in the audit log of Kubernetes.
func verbOf(req *http.Request) string {
	switch req.Method {
	case http.MethodPost:
		return "create"
	case http.MethodPut:
		return "update"
	case http.MethodPatch:
		return "patch"
	case http.MethodDelete:
		return "delete"
	}
	if watch := req.URL.Query().Get("watch"); watch == "true" || watch == "1" {
		return "watch"
	}
	switch resource := resourceOf(req.URL.Path); len(resource) {
	case 0:
		return "discover"
	case 1:
		return "list"
	default:
		return "get"
	}
}

// resourceOf returns the path after the version and namespace: resource, name, subresource. It is empty if the path has no
// resource.
func resourceOf(path string) []string {
	parts, skip := strings.Split(strings.Trim(path, "/"), "/"), 3 // apis, group, version
	// An API server may be served under a path prefix.
	if i := slices.IndexFunc(parts, func(part string) bool { return part == "api" || part == "apis" }); i >= 0 {
		if parts = parts[i:]; parts[0] == "api" {
			skip = 2
		}
	}
	if len(parts) <= skip {
		return nil
	}
	resource := parts[skip:]
	if resource[0] == "namespaces" && len(resource) > 2 {
		return resource[2:]
	}
	return resource
}
