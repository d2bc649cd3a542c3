package proxy

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
)

// The content types of patches.
const (
	strategic = string(types.StrategicMergePatchType)
	merge     = string(types.MergePatchType)
)

// answer is a complete answer of the API server.
type answer struct {
	status  int
	content []byte
}

// ask sends a request to the API server and returns the answer, translated for the client.
func (p *Proxy) ask(ctx context.Context, method string, at *url.URL, body []byte) (answer, error) {
	whole := *p.server.JoinPath(at.Path)
	whole.RawQuery = at.RawQuery
	request, err := http.NewRequestWithContext(ctx, method, whole.String(), bytes.NewReader(body))
	if err != nil {
		return answer{}, err
	}
	request.Header.Set("Accept", asJSON)
	request.Header.Set("Content-Type", asJSON)
	response, err := p.transport.RoundTrip(request)
	if err != nil {
		return answer{}, err
	}
	defer response.Body.Close()
	content, err := io.ReadAll(response.Body)
	if err != nil {
		return answer{}, err
	}
	content, err = toNative.text(content)
	return answer{response.StatusCode, content}, err
}

// give sends an answer to the client.
func give(w http.ResponseWriter, a answer, err error) {
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	w.Header().Set("Content-Type", asJSON)
	w.WriteHeader(a.status)
	_, _ = w.Write(a.content)
}

// read answers the read of a set once the controller has observed the set, or after the proxy's patience.
func (p *Proxy) read(w http.ResponseWriter, r *http.Request) {
	const interval = 20 * time.Millisecond
	ctx := r.Context()
	late, cancel := context.WithTimeout(ctx, p.patience)
	defer cancel()
	for {
		a, err := p.ask(ctx, http.MethodGet, r.URL, nil)
		if err != nil || late.Err() != nil || !a.unobserved() {
			give(w, a, err)
			return
		}
		select {
		case <-late.Done():
		case <-time.After(interval):
		}
	}
}

// unobserved reports whether the answer is a set whose status describes an older generation.
func (a answer) unobserved() bool {
	set := appsv1.StatefulSet{}
	return a.status == http.StatusOK && json.Unmarshal(a.content, &set) == nil &&
		set.DeletionTimestamp == nil && set.Status.ObservedGeneration < set.Generation
}

// patch applies a strategic merge patch to the set as it is now, and updates the set. A Scale has no lists, so for it the
// patch means the same as a merge patch.
func (p *Proxy) patch(w http.ResponseWriter, r *http.Request, t target) {
	if t.subresource == "scale" {
		r.Header.Set("Content-Type", merge)
		p.translated.ServeHTTP(w, r)
		return
	}
	patch, err := io.ReadAll(r.Body)
	if err != nil {
		give(w, answer{}, err)
		return
	}
	const attempts = 10
	a := answer{}
	for range attempts {
		if a, err = p.update(r, patch); err != nil || a.status != http.StatusConflict {
			break
		}
	}
	give(w, a, err)
}

// update reads a set, applies a patch and writes the result. It returns the answer to the write, or that to a read that
// failed.
func (p *Proxy) update(r *http.Request, patch []byte) (answer, error) {
	current, err := p.ask(r.Context(), http.MethodGet, &url.URL{Path: r.URL.Path}, nil)
	if err != nil || current.status != http.StatusOK {
		return current, err
	}
	if patch, err = toNative.text(patch); err != nil {
		return answer{}, err
	}
	patched, err := strategicpatch.StrategicMergePatch(current.content, patch, appsv1.StatefulSet{})
	if err != nil {
		return answer{}, err
	}
	if patched, err = toOurs.text(patched); err != nil {
		return answer{}, err
	}
	return p.ask(r.Context(), http.MethodPut, r.URL, patched)
}
