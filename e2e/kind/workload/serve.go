package main

import (
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/sliceshift/sliceshift/e2e/kind/journal"
)

const (
	address    = ":8080"
	reasonFile = "/podinfo/reason"
)

// serve answers until the process ends. That it answers says that the journal is whole.
func (r *replica) serve(dir string) error {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(http.ResponseWriter, *http.Request) {})
	mux.HandleFunc("GET /journal", serveFile(filepath.Join(dir, fileName)))
	mux.HandleFunc("GET /violations", serveFile(filepath.Join(dir, violations)))
	mux.HandleFunc("GET /reason", serveFile(reasonFile))
	mux.HandleFunc("GET /version", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, os.Getenv("VERSION")) })
	mux.HandleFunc("POST /drain", r.drain)
	server := &http.Server{Addr: address, Handler: mux, ReadHeaderTimeout: time.Minute}
	return server.ListenAndServe()
}

// serveFile answers with a file as it is now; one that is not there is empty.
func serveFile(path string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		content, err := os.ReadFile(path)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		_, _ = w.Write(content)
	}
}

// reason is why the pod goes, as far as the kubelet has written it.
func reason() string {
	content, err := os.ReadFile(reasonFile)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(content))
}

// drain keeps its caller, the preStop hook, for a time; the replica goes on writing.
func (r *replica) drain(w http.ResponseWriter, request *http.Request) {
	patience, err := time.ParseDuration(request.FormValue("for"))
	if err == nil {
		err = r.note(journal.DrainFor(reason()))
	}
	if err == nil {
		select {
		case <-time.After(patience):
			err = r.note(journal.Drained)
		case <-request.Context().Done():
			err = request.Context().Err()
		}
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
	}
}
