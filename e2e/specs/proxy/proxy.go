// Package proxy is an API server for clients that know StatefulSets of apps/v1 alone, such as Kubernetes' own specs. It
// serves the StatefulSets of our kind under the paths of apps/v1, with every verb and subresource, and all other requests
// unchanged:
//
//	paths    of apps/v1 StatefulSets become those of our kind
//	objects  StatefulSets, and references to them as owners in pods, claims and ControllerRevisions, have the API version of
//	         apps/v1 for the client, and of our kind for the API server
//	patches  a strategic merge patch, which custom resources do not support, is applied here and written as an update
//	reads    a set is returned once the controller has observed its generation
//
// The last one is for specs that read a status every ten seconds, and would miss the states between.
//
// Bodies are JSON: a client of protobuf gets status 415.
package proxy

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"mime"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strconv"
	"strings"
	"time"

	"k8s.io/client-go/rest"
)

// Proxy serves the requests of clients of apps/v1.
type Proxy struct {
	server    *url.URL
	transport http.RoundTripper
	// plain forwards requests, translated also translates the answers.
	plain, translated *httputil.ReverseProxy
	// patience is the longest time for which a read waits.
	patience time.Duration
}

// New returns a Proxy for the API server of a config. A read of a set waits at most patience until the controller has
// observed the set; with 0 it does not wait.
func New(config *rest.Config, patience time.Duration) (*Proxy, error) {
	config = rest.CopyConfig(config)
	config.NextProtos = []string{"http/1.1"} // HTTP/2 has no upgrade, which exec needs
	transport, err := rest.TransportFor(config)
	if err != nil {
		return nil, fmt.Errorf("connect the proxy to %s: %w", config.Host, err)
	}
	server, _, err := rest.DefaultServerUrlFor(config)
	if err != nil {
		return nil, fmt.Errorf("connect the proxy to %s: %w", config.Host, err)
	}
	p := &Proxy{server: server, transport: transport, patience: patience}
	quiet := log.New(io.Discard, "", 0) // clients end their watches at any time
	p.plain = &httputil.ReverseProxy{Rewrite: p.rewrite, Transport: transport, FlushInterval: -1, ErrorLog: quiet}
	p.translated = &httputil.ReverseProxy{Rewrite: p.rewrite, Transport: transport, FlushInterval: -1, ErrorLog: quiet, ModifyResponse: translate}
	return p, nil
}

// Listen serves the proxy at an address of this machine, which it returns, until ctx ends.
func (p *Proxy) Listen(ctx context.Context) (address string, err error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("listen for clients of the proxy: %w", err)
	}
	const patience = 10 * time.Second
	server := &http.Server{Handler: p, ReadHeaderTimeout: patience}
	go func() {
		<-ctx.Done()
		_ = server.Close()
	}()
	go func() {
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			panic(fmt.Sprintf("the proxy ended: %v", err))
		}
	}()
	return "http://" + listener.Addr().String(), nil
}

func (p *Proxy) rewrite(r *httputil.ProxyRequest) { r.SetURL(p.server) }

// ServeHTTP serves one request.
func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	t, found := targetOf(r.URL.Path)
	if !found {
		p.plain.ServeHTTP(w, r)
		return
	}
	if err := t.translate(r); err != nil {
		http.Error(w, err.Error(), http.StatusUnsupportedMediaType)
		return
	}
	switch {
	case r.Method == http.MethodPatch && t.sets && contentType(r.Header) == strategic:
		p.patch(w, r, t)
	case r.Method == http.MethodGet && t.sets && t.name != "" && t.subresource == "" && !isWatch(r):
		p.read(w, r)
	default:
		p.translated.ServeHTTP(w, r)
	}
}

func contentType(h http.Header) string {
	kind, _, err := mime.ParseMediaType(h.Get("Content-Type"))
	if err != nil {
		return ""
	}
	return kind
}

const asJSON = "application/json"

// translate turns a request into that for our kind. Its answer will be plain JSON.
func (t target) translate(r *http.Request) error {
	r.URL.Path, r.URL.RawPath = t.path, ""
	r.Header.Set("Accept", asJSON)
	r.Header.Set("Accept-Encoding", "identity")
	content, err := io.ReadAll(r.Body)
	if err != nil || len(content) == 0 {
		return err
	}
	if kind := contentType(r.Header); !strings.Contains(kind, "json") && !strings.Contains(kind, "yaml") {
		return fmt.Errorf("the body of %s %s is %s: set the client's content type to %s", r.Method, r.URL.Path, kind, asJSON)
	}
	value, err := decode(content)
	if err != nil {
		return err
	}
	if options, is := value.(map[string]any); is && options["kind"] == "DeleteOptions" {
		delete(options, "apiVersion") // of the client's group, which our kind's server does not know
		delete(options, "kind")
	}
	toOurs.object(value)
	if content, err = encode(value); err != nil {
		return err
	}
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(content)), int64(len(content))
	r.Header.Set("Content-Length", strconv.Itoa(len(content)))
	return nil
}

// translate turns an answer of our kind into one of apps/v1.
func translate(answer *http.Response) error {
	if !strings.Contains(answer.Header.Get("Content-Type"), "json") {
		return nil
	}
	if isWatch(answer.Request) {
		answer.Body = events(answer.Body)
		return nil
	}
	content, err := io.ReadAll(answer.Body)
	if err != nil {
		return err
	}
	if content, err = toNative.text(content); err != nil {
		return err
	}
	answer.Body, answer.ContentLength = io.NopCloser(bytes.NewReader(content)), int64(len(content))
	answer.Header.Set("Content-Length", strconv.Itoa(len(content)))
	return nil
}

// events translates the events of a watch as they come.
func events(body io.ReadCloser) io.ReadCloser {
	reader, writer := io.Pipe()
	go func() {
		defer body.Close()
		decoder := json.NewDecoder(body)
		decoder.UseNumber()
		for {
			event := map[string]any{}
			err := decoder.Decode(&event)
			var text []byte
			if err == nil {
				toNative.object(event["object"])
				text, err = encode(event)
			}
			if err == nil {
				_, err = writer.Write(text)
			}
			if err != nil {
				writer.CloseWithError(err)
				return
			}
		}
	}()
	return reader
}
